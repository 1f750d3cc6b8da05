CREATE TABLE `idempotency_keys` (
	`key` text PRIMARY KEY NOT NULL,
	`fingerprint` blob NOT NULL,
	`first_seen_at` integer NOT NULL,
	`status` integer,
	`answer` text
);
--> statement-breakpoint
CREATE INDEX `idempotency_keys_age` ON `idempotency_keys` (`first_seen_at`);--> statement-breakpoint
ALTER TABLE `applications` ADD `retired_webhook_secrets` text DEFAULT '[]' NOT NULL;--> statement-breakpoint
ALTER TABLE `applications` ADD `retired_client_secrets` text DEFAULT '[]' NOT NULL;--> statement-breakpoint
ALTER TABLE `applications` ADD `disabled` integer DEFAULT false NOT NULL;