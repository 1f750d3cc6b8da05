-- The index behind user search; src/store/sqlite/search describes its layout.
CREATE VIRTUAL TABLE `user_search` USING fts5(
	`username`,
	`display_name`,
	`start`,
	content = '',
	contentless_delete = 1,
	detail = none,
	tokenize = 'trigram case_sensitive 1'
);
--> statement-breakpoint
-- Automatic merges are off, because each batch merges some pages. The unbounded crisis merge is only a last resort.
INSERT INTO `user_search` (`user_search`, `rank`) VALUES ('automerge', 0), ('usermerge', 2), ('crisismerge', 64);
--> statement-breakpoint
CREATE TRIGGER `subscription_made` AFTER INSERT ON `subscriptions` BEGIN
	INSERT INTO `subscription_counts` VALUES (new.`app_id`, 1)
	ON CONFLICT (`application_id`) DO UPDATE SET `subscriptions` = `subscriptions` + 1;
END;
--> statement-breakpoint
CREATE TRIGGER `subscription_removed` AFTER DELETE ON `subscriptions` BEGIN
	UPDATE `subscription_counts` SET `subscriptions` = `subscriptions` - 1 WHERE `application_id` = old.`app_id`;
END;
