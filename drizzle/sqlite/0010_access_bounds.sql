DROP INDEX `tokens_application`;--> statement-breakpoint
CREATE INDEX `tokens_application` ON `tokens` (`application_id`,`user_id`);--> statement-breakpoint
ALTER TABLE `login_requests` ADD `client` text;--> statement-breakpoint
CREATE INDEX `login_requests_client` ON `login_requests` (`client`);--> statement-breakpoint
DELETE FROM `tokens` WHERE `hash` IN (
	SELECT `hash` FROM (
		SELECT `hash`, row_number() OVER (PARTITION BY `application_id` ORDER BY rowid DESC) AS `age`
		FROM `tokens` WHERE `user_id` IS NULL
	) WHERE `age` > 1000
);
