CREATE TABLE `staged_events` (
	`place` integer PRIMARY KEY NOT NULL,
	`seq` integer NOT NULL,
	`id` text NOT NULL,
	`name` text NOT NULL,
	`version` integer NOT NULL,
	`broadcaster_user_id` integer NOT NULL,
	`body` text NOT NULL,
	`fingerprint` blob NOT NULL,
	`published_at` integer NOT NULL,
	`expires_at` integer,
	`first_delivery` integer NOT NULL,
	`deliveries` text NOT NULL
);
