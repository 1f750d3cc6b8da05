ALTER TABLE `applications` ADD `webhook_concurrency` integer;
