CREATE TABLE `search_statistics` (
	`id` integer PRIMARY KEY NOT NULL,
	`revision` integer NOT NULL,
	`trigram_counts` blob NOT NULL
);
--> statement-breakpoint
-- The index holds trigrams without positions now, and how usernames begin; it is filled anew when the store opens.
DROP TABLE `user_search`;
--> statement-breakpoint
CREATE VIRTUAL TABLE `user_search` USING fts5(
	`username`,
	`display_name`,
	`start`,
	content = '',
	contentless_delete = 1,
	detail = none,
	tokenize = 'trigram case_sensitive 1'
);
