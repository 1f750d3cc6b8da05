CREATE TABLE `subscription_counts` (
	`application_id` text PRIMARY KEY NOT NULL,
	`subscriptions` integer NOT NULL,
	FOREIGN KEY (`application_id`) REFERENCES `applications`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `subscriptions_list` ON `subscriptions` (`app_id`,`id`,`broadcaster_user_id`,`event`,`version`,`created_at`,`updated_at`);
--> statement-breakpoint
INSERT INTO `subscription_counts` SELECT `app_id`, count(*) FROM `subscriptions` GROUP BY `app_id`;
--> statement-breakpoint
CREATE TRIGGER `subscription_made` AFTER INSERT ON `subscriptions` BEGIN
	INSERT INTO `subscription_counts` VALUES (new.`app_id`, 1)
	ON CONFLICT (`application_id`) DO UPDATE SET `subscriptions` = `subscriptions` + 1;
END;
--> statement-breakpoint
CREATE TRIGGER `subscription_removed` AFTER DELETE ON `subscriptions` BEGIN
	UPDATE `subscription_counts` SET `subscriptions` = `subscriptions` - 1 WHERE `application_id` = old.`app_id`;
END;
