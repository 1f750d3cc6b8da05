CREATE TABLE `endpoints` (
	`application_id` text PRIMARY KEY NOT NULL,
	`failing_since` integer,
	`failures` integer NOT NULL,
	`warned_at` integer,
	`disabled_at` integer,
	`disabled_reason` text,
	`last_success_at` integer,
	`last_failure_at` integer,
	`last_failure_status` integer,
	`last_failure_error` text,
	FOREIGN KEY (`application_id`) REFERENCES `applications`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `new_deliveries` (
	`seq` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`event_seq` integer NOT NULL,
	`application_id` text NOT NULL,
	`subscription_id` text NOT NULL,
	`sequence` integer NOT NULL,
	`status` text NOT NULL,
	`attempts` integer NOT NULL,
	`next_attempt_at` integer,
	`expires_at` integer,
	`finished_at` integer
);
--> statement-breakpoint
INSERT INTO `new_deliveries`
SELECT row_number() OVER (ORDER BY `event_seq`, `id`), `id`, `event_seq`, `application_id`, `subscription_id`, `sequence`,
	`status`, `attempts`, CASE WHEN `attempts` = 0 AND `status` = 'pending' THEN 0 ELSE `next_attempt_at` END,
	`expires_at`, `finished_at`
FROM `deliveries`;
--> statement-breakpoint
CREATE TABLE `new_attempts` (
	`delivery_seq` integer NOT NULL,
	`number` integer NOT NULL,
	`at` integer NOT NULL,
	`outcome` text NOT NULL,
	`status` integer,
	`duration_ms` integer NOT NULL,
	`dns_ms` real,
	`connect_ms` real,
	`tls_ms` real,
	`first_byte_ms` real,
	`error` text,
	`response` text NOT NULL,
	PRIMARY KEY(`delivery_seq`, `number`)
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `new_attempts`
SELECT d.`seq`, a.`number`, a.`at`, a.`outcome`, a.`status`, a.`duration_ms`, NULL, NULL, NULL, NULL, a.`error`, a.`response`
FROM `attempts` a JOIN `new_deliveries` d ON d.`id` = a.`delivery_id`;
--> statement-breakpoint
DROP TABLE `attempts`;
--> statement-breakpoint
ALTER TABLE `new_attempts` RENAME TO `attempts`;
--> statement-breakpoint
DROP TABLE `deliveries`;
--> statement-breakpoint
ALTER TABLE `new_deliveries` RENAME TO `deliveries`;
--> statement-breakpoint
CREATE UNIQUE INDEX `deliveries_id_unique` ON `deliveries` (`id`);
--> statement-breakpoint
CREATE INDEX `deliveries_due` ON `deliveries` (`application_id`,`next_attempt_at`) WHERE "next_attempt_at" IS NOT NULL;
--> statement-breakpoint
CREATE INDEX `deliveries_handed_out` ON `deliveries` (`seq`) WHERE "status" = 'pending' AND "next_attempt_at" IS NULL;
--> statement-breakpoint
CREATE INDEX `deliveries_application` ON `deliveries` ("seq" >> 12,`application_id`,`subscription_id`);
--> statement-breakpoint
CREATE TABLE `new_events` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`name` text NOT NULL,
	`version` integer NOT NULL,
	`broadcaster_user_id` integer NOT NULL,
	`body` text,
	`fingerprint` blob NOT NULL,
	`first_delivery` integer NOT NULL,
	`deliveries` integer NOT NULL,
	`published_at` integer NOT NULL
);
--> statement-breakpoint
INSERT INTO `new_events`
SELECT e.`seq`, e.`id`, e.`name`, e.`version`, e.`broadcaster_user_id`, e.`body`, e.`fingerprint`,
	ifnull((SELECT min(d.`seq`) FROM `deliveries` d WHERE d.`event_seq` = e.`seq`), 0), e.`deliveries`, e.`published_at`
FROM `events` e;
--> statement-breakpoint
DROP TABLE `events`;
--> statement-breakpoint
ALTER TABLE `new_events` RENAME TO `events`;
--> statement-breakpoint
CREATE UNIQUE INDEX `events_id_unique` ON `events` (`id`);
--> statement-breakpoint
CREATE INDEX `events_published` ON `events` (`published_at`);
