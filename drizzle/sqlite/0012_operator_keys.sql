CREATE TABLE `operator_keys` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`role` text NOT NULL,
	`source` text NOT NULL,
	`hash` text NOT NULL,
	`prefix` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer,
	`last_used_at` integer,
	`shown_at` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `operator_keys_hash_unique` ON `operator_keys` (`hash`);--> statement-breakpoint
-- The key of an earlier version's first start, which was shown then.
INSERT INTO `operator_keys`
	(`id`, `name`, `role`, `source`, `hash`, `prefix`, `created_at`, `shown_at`)
SELECT '00000000000000000000000001', 'first start', 'operator', 'generated', `value`, 'onair_admin_',
	unixepoch() * 1000, unixepoch() * 1000
FROM `settings` WHERE `key` = 'admin_key_hash';
--> statement-breakpoint
DELETE FROM `settings` WHERE `key` = 'admin_key_hash';
