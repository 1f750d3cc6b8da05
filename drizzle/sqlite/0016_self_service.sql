ALTER TABLE `applications` ADD `client_secret_prefix` text;--> statement-breakpoint
ALTER TABLE `applications` ADD `client_secret_created_at` integer;--> statement-breakpoint
ALTER TABLE `applications` ADD `webhook_secret_created_at` integer;--> statement-breakpoint
ALTER TABLE `applications` ADD `locked` text DEFAULT '[]' NOT NULL;--> statement-breakpoint
ALTER TABLE `applications` ADD `owner_user_id` integer REFERENCES users(id) ON DELETE SET NULL;--> statement-breakpoint
CREATE INDEX `applications_owner` ON `applications` (`owner_user_id`);--> statement-breakpoint
ALTER TABLE `endpoints` ADD `last_failure_outcome` text;