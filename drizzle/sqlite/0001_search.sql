-- The index behind user search; src/store/sqlite/search.ts says how it is laid out.
CREATE VIRTUAL TABLE `user_search` USING fts5(
	`username`,
	`display_name`,
	content = '',
	contentless_delete = 1,
	tokenize = 'trigram case_sensitive 1'
);
