CREATE TABLE `audit` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`merge_key` text,
	`at` integer NOT NULL,
	`last_at` integer NOT NULL,
	`count` integer NOT NULL,
	`actor_kind` text NOT NULL,
	`actor_id` text NOT NULL,
	`actor_name` text NOT NULL,
	`action` text NOT NULL,
	`object` text NOT NULL,
	`object_id` text,
	`fields` text NOT NULL,
	`address` text NOT NULL,
	`request_id` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `audit_merge_key_unique` ON `audit` (`merge_key`);--> statement-breakpoint
CREATE INDEX `audit_at` ON `audit` (`at`);--> statement-breakpoint
CREATE INDEX `audit_actor` ON `audit` (`actor_id`);--> statement-breakpoint
CREATE INDEX `audit_action` ON `audit` (`action`);--> statement-breakpoint
CREATE INDEX `audit_object` ON `audit` (`object`,`object_id`);