CREATE TABLE `event_types` (
	`name` text NOT NULL,
	`version` integer NOT NULL,
	`description` text NOT NULL,
	`schema` text NOT NULL,
	`example` text NOT NULL,
	`time_to_live_seconds` integer,
	`is_published` integer DEFAULT false NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	PRIMARY KEY(`name`, `version`)
);
--> statement-breakpoint
ALTER TABLE `applications` ADD `delivery` text DEFAULT 'webhook' NOT NULL;