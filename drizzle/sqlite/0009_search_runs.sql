-- The index holds runs of the same character now; it is filled anew when the store opens.
DROP TABLE `user_search`;
--> statement-breakpoint
DELETE FROM `search_statistics`;
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
