CREATE TABLE `replays` (
	`id` text PRIMARY KEY NOT NULL,
	`application_id` text NOT NULL,
	`broadcaster_user_id` integer,
	`subscription_id` text,
	`status` text,
	`type` text,
	`from_at` integer NOT NULL,
	`to_at` integer NOT NULL,
	`dry_run` integer NOT NULL,
	`state` text NOT NULL,
	`first` integer NOT NULL,
	`end` integer NOT NULL,
	`position` integer NOT NULL,
	`matched` integer DEFAULT 0 NOT NULL,
	`queued` integer DEFAULT 0 NOT NULL,
	`skipped_body` integer DEFAULT 0 NOT NULL,
	`skipped_subscription` integer DEFAULT 0 NOT NULL,
	`skipped_attempts` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	`finished_at` integer,
	FOREIGN KEY (`application_id`) REFERENCES `applications`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `replays_application` ON `replays` (`application_id`);
--> statement-breakpoint
CREATE INDEX `replays_running` ON `replays` (`id`) WHERE "state" = 'running';
--> statement-breakpoint
CREATE INDEX `deliveries_failed` ON `deliveries` (`application_id`) WHERE "status" IN ('failed', 'expired');