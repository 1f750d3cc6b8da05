CREATE TABLE `operator_sessions` (
	`hash` blob PRIMARY KEY NOT NULL,
	`expires_at` integer NOT NULL
);
