CREATE TABLE `application_requests` (
	`application_id` text PRIMARY KEY NOT NULL,
	`hours` text NOT NULL,
	`refused` text NOT NULL,
	FOREIGN KEY (`application_id`) REFERENCES `applications`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `applications` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`client_type` text NOT NULL,
	`client_secret_hash` blob NOT NULL,
	`delivery` text DEFAULT 'webhook' NOT NULL,
	`webhook_url` text,
	`former_urls` text DEFAULT '[]' NOT NULL,
	`webhook_headers` text DEFAULT '[]' NOT NULL,
	`webhook_secret` text NOT NULL,
	`retired_webhook_secrets` text DEFAULT '[]' NOT NULL,
	`filters` text DEFAULT '{}' NOT NULL,
	`filters_generation` integer DEFAULT 0 NOT NULL,
	`retired_client_secrets` text DEFAULT '[]' NOT NULL,
	`client_secret_prefix` text NOT NULL,
	`client_secret_created_at` integer NOT NULL,
	`webhook_secret_created_at` integer NOT NULL,
	`locked` text DEFAULT '[]' NOT NULL,
	`owner_user_id` integer,
	`disabled` integer DEFAULT false NOT NULL,
	`endpoint_generation` integer DEFAULT 0 NOT NULL,
	`scopes` text NOT NULL,
	`redirect_uris` text NOT NULL,
	`rate_limit` integer,
	`subscription_limit` integer,
	`webhook_concurrency` integer,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`owner_user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE set null
);
--> statement-breakpoint
CREATE INDEX `applications_owner` ON `applications` (`owner_user_id`);--> statement-breakpoint
CREATE TABLE `attempts` (
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
	`generation` integer NOT NULL,
	`exchange` text,
	PRIMARY KEY(`delivery_seq`, `number`)
) WITHOUT ROWID;
--> statement-breakpoint
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
	`object_name` text,
	`fields` text NOT NULL,
	`changes` text NOT NULL,
	`address` text NOT NULL,
	`request_id` text NOT NULL,
	`accepted` integer,
	`ended` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `audit_merge_key_unique` ON `audit` (`merge_key`);--> statement-breakpoint
CREATE INDEX `audit_at` ON `audit` (`at`);--> statement-breakpoint
CREATE INDEX `audit_actor` ON `audit` (`actor_id`);--> statement-breakpoint
CREATE INDEX `audit_action` ON `audit` (`action`);--> statement-breakpoint
CREATE INDEX `audit_object` ON `audit` (`object`,`object_id`);--> statement-breakpoint
CREATE TABLE `authorization_codes` (
	`hash` blob PRIMARY KEY NOT NULL,
	`application_id` text NOT NULL,
	`user_id` integer NOT NULL,
	`scopes` text NOT NULL,
	`redirect_uri` text NOT NULL,
	`code_challenge` text NOT NULL,
	`family_id` text NOT NULL,
	`expires_at` integer NOT NULL,
	`used_at` integer,
	FOREIGN KEY (`application_id`) REFERENCES `applications`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `authorization_codes_expiry` ON `authorization_codes` (`expires_at`);--> statement-breakpoint
CREATE INDEX `authorization_codes_application` ON `authorization_codes` (`application_id`);--> statement-breakpoint
CREATE INDEX `authorization_codes_user` ON `authorization_codes` (`user_id`);--> statement-breakpoint
CREATE TABLE `categories` (
	`id` integer PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`slug` text NOT NULL,
	`icon` text,
	`banner` text,
	`description` text NOT NULL,
	`tags` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `categories_slug_unique` ON `categories` (`slug`);--> statement-breakpoint
CREATE TABLE `channels` (
	`id` integer PRIMARY KEY NOT NULL,
	`user_id` integer NOT NULL,
	`slug` text NOT NULL,
	`name` text NOT NULL,
	`profile_image` text,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `channels_slug_unique` ON `channels` (`slug`);--> statement-breakpoint
CREATE INDEX `channels_user` ON `channels` (`user_id`);--> statement-breakpoint
CREATE TABLE `consents` (
	`application_id` text NOT NULL,
	`user_id` integer NOT NULL,
	`scopes` text NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	PRIMARY KEY(`user_id`, `application_id`),
	FOREIGN KEY (`application_id`) REFERENCES `applications`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `consents_application` ON `consents` (`application_id`);--> statement-breakpoint
CREATE TABLE `deliveries` (
	`seq` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`event_seq` integer NOT NULL,
	`application_id` text NOT NULL,
	`subscription_id` text NOT NULL,
	`sequence` integer NOT NULL,
	`status` text NOT NULL,
	`attempts` integer NOT NULL,
	`extra_attempts` integer DEFAULT 0 NOT NULL,
	`next_attempt_at` integer,
	`resume_at` integer,
	`expires_at` integer,
	`finished_at` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `deliveries_id_unique` ON `deliveries` (`id`);--> statement-breakpoint
CREATE INDEX `deliveries_due` ON `deliveries` (`application_id`,`next_attempt_at`) WHERE "deliveries"."next_attempt_at" IS NOT NULL;--> statement-breakpoint
CREATE INDEX `deliveries_handed_out` ON `deliveries` (`seq`) WHERE "deliveries"."status" = 'pending' AND "deliveries"."next_attempt_at" IS NULL;--> statement-breakpoint
CREATE INDEX `deliveries_application` ON `deliveries` ("seq" >> 12,`application_id`,`subscription_id`);--> statement-breakpoint
CREATE INDEX `deliveries_failed` ON `deliveries` (`application_id`) WHERE "deliveries"."status" NOT IN ('pending', 'delivered');--> statement-breakpoint
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
	`last_failure_outcome` text,
	`paused_until` integer,
	`revision` integer NOT NULL,
	`last_failing_since` integer,
	`resumes_at` integer,
	FOREIGN KEY (`application_id`) REFERENCES `applications`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
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
CREATE TABLE `events` (
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
CREATE UNIQUE INDEX `events_id_unique` ON `events` (`id`);--> statement-breakpoint
CREATE INDEX `events_published` ON `events` (`published_at`);--> statement-breakpoint
CREATE TABLE `idempotency_keys` (
	`key` text PRIMARY KEY NOT NULL,
	`fingerprint` blob NOT NULL,
	`first_seen_at` integer NOT NULL,
	`status` integer,
	`answer` text
);
--> statement-breakpoint
CREATE INDEX `idempotency_keys_age` ON `idempotency_keys` (`first_seen_at`);--> statement-breakpoint
CREATE TABLE `livestreams` (
	`channel_id` integer PRIMARY KEY NOT NULL,
	`category_id` integer NOT NULL,
	`viewers` integer NOT NULL,
	`title` text NOT NULL,
	`language` text NOT NULL,
	`started_at` text NOT NULL,
	FOREIGN KEY (`channel_id`) REFERENCES `channels`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`category_id`) REFERENCES `categories`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `livestreams_category` ON `livestreams` (`category_id`);--> statement-breakpoint
CREATE TABLE `login_requests` (
	`challenge_hash` blob PRIMARY KEY NOT NULL,
	`browser_hash` blob NOT NULL,
	`application_id` text NOT NULL,
	`redirect_uri` text NOT NULL,
	`scopes` text NOT NULL,
	`state` text,
	`code_challenge` text NOT NULL,
	`expires_at` integer NOT NULL,
	`verifier_hash` blob,
	`answer` text NOT NULL,
	`user_id` integer,
	FOREIGN KEY (`application_id`) REFERENCES `applications`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `login_requests_verifier_hash_unique` ON `login_requests` (`verifier_hash`);--> statement-breakpoint
CREATE INDEX `login_requests_expiry` ON `login_requests` (`expires_at`);--> statement-breakpoint
CREATE INDEX `login_requests_application` ON `login_requests` (`application_id`);--> statement-breakpoint
CREATE INDEX `login_requests_user` ON `login_requests` (`user_id`);--> statement-breakpoint
CREATE TABLE `notices` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`type` text NOT NULL,
	`application_id` text,
	`body` text NOT NULL,
	`created_at` integer NOT NULL,
	`status` text NOT NULL,
	`attempts` integer NOT NULL,
	`next_attempt_at` integer,
	`error` text,
	FOREIGN KEY (`application_id`) REFERENCES `applications`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `notices_id_unique` ON `notices` (`id`);--> statement-breakpoint
CREATE INDEX `notices_application` ON `notices` (`application_id`);--> statement-breakpoint
CREATE INDEX `notices_created` ON `notices` (`created_at`);--> statement-breakpoint
CREATE INDEX `notices_due` ON `notices` (`next_attempt_at`) WHERE "notices"."status" = 'pending';--> statement-breakpoint
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
CREATE TABLE `operator_sessions` (
	`hash` blob PRIMARY KEY NOT NULL,
	`expires_at` integer NOT NULL,
	`key_id` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `refresh_tokens` (
	`hash` blob PRIMARY KEY NOT NULL,
	`application_id` text NOT NULL,
	`user_id` integer NOT NULL,
	`scopes` text NOT NULL,
	`family_id` text NOT NULL,
	`expires_at` integer NOT NULL,
	`parent_hash` blob,
	`rotated_at` integer,
	FOREIGN KEY (`application_id`) REFERENCES `applications`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `refresh_tokens_expiry` ON `refresh_tokens` (`expires_at`);--> statement-breakpoint
CREATE INDEX `refresh_tokens_application` ON `refresh_tokens` (`application_id`);--> statement-breakpoint
CREATE INDEX `refresh_tokens_user` ON `refresh_tokens` (`user_id`);--> statement-breakpoint
CREATE INDEX `refresh_tokens_of_family` ON `refresh_tokens` (`family_id`,`expires_at`);--> statement-breakpoint
CREATE TABLE `removed_deliveries` (
	`application_id` text PRIMARY KEY NOT NULL,
	`up_to` integer NOT NULL,
	FOREIGN KEY (`application_id`) REFERENCES `applications`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `replays` (
	`id` text PRIMARY KEY NOT NULL,
	`application_id` text NOT NULL,
	`broadcaster_user_id` integer,
	`subscription_id` text,
	`of_broadcaster` integer,
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
CREATE INDEX `replays_application` ON `replays` (`application_id`);--> statement-breakpoint
CREATE INDEX `replays_running` ON `replays` (`id`) WHERE "replays"."state" = 'running';--> statement-breakpoint
CREATE TABLE `search_statistics` (
	`id` integer PRIMARY KEY NOT NULL,
	`revision` integer NOT NULL,
	`trigram_counts` blob NOT NULL
);
--> statement-breakpoint
CREATE TABLE `settings` (
	`key` text PRIMARY KEY NOT NULL,
	`value` text NOT NULL
);
--> statement-breakpoint
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
--> statement-breakpoint
CREATE TABLE `statistics` (
	`kind` text NOT NULL,
	`subject` text NOT NULL,
	`period` text NOT NULL,
	`at` integer NOT NULL,
	`counts` text NOT NULL,
	`durations` text NOT NULL,
	PRIMARY KEY(`kind`, `subject`, `period`, `at`)
);
--> statement-breakpoint
CREATE INDEX `statistics_period` ON `statistics` (`period`,`at`);--> statement-breakpoint
CREATE TABLE `subscription_counts` (
	`application_id` text PRIMARY KEY NOT NULL,
	`subscriptions` integer NOT NULL,
	FOREIGN KEY (`application_id`) REFERENCES `applications`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `subscriptions` (
	`id` text PRIMARY KEY NOT NULL,
	`app_id` text NOT NULL,
	`broadcaster_user_id` integer,
	`event` text NOT NULL,
	`version` integer NOT NULL,
	`sequence` integer DEFAULT 0 NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`app_id`) REFERENCES `applications`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`broadcaster_user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `subscriptions_key` ON `subscriptions` (`app_id`,ifnull("broadcaster_user_id", 0),`event`,`version`);--> statement-breakpoint
CREATE INDEX `subscriptions_event` ON `subscriptions` (`broadcaster_user_id`,`event`,`version`);--> statement-breakpoint
CREATE INDEX `subscriptions_list` ON `subscriptions` (`app_id`,`id`,`broadcaster_user_id`,`event`,`version`,`created_at`,`updated_at`);--> statement-breakpoint
CREATE TABLE `tags` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`name` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `tags_name_unique` ON `tags` (`name`);--> statement-breakpoint
CREATE TABLE `tokens` (
	`hash` blob PRIMARY KEY NOT NULL,
	`application_id` text NOT NULL,
	`user_id` integer,
	`scopes` text NOT NULL,
	`expires_at` integer NOT NULL,
	`family_id` text,
	`refresh_hash` blob,
	`created_at` integer NOT NULL,
	`last_used_at` integer,
	FOREIGN KEY (`application_id`) REFERENCES `applications`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `tokens_expiry` ON `tokens` (`expires_at`);--> statement-breakpoint
CREATE INDEX `tokens_application` ON `tokens` (`application_id`,`user_id`);--> statement-breakpoint
CREATE INDEX `tokens_user` ON `tokens` (`user_id`);--> statement-breakpoint
CREATE INDEX `tokens_family` ON `tokens` (`family_id`);--> statement-breakpoint
CREATE TABLE `users` (
	`id` integer PRIMARY KEY NOT NULL,
	`username` text NOT NULL,
	`display_name` text NOT NULL,
	`bio` text NOT NULL,
	`profile_picture` text,
	`followers_count` integer NOT NULL,
	`following_count` integer NOT NULL,
	`is_verified` integer NOT NULL,
	`created_at` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `users_username` ON `users` ("username" COLLATE NOCASE);
--> statement-breakpoint
-- The index behind user search; src/store/sqlite/search describes its layout.
CREATE VIRTUAL TABLE `user_search` USING fts5(
	`username`,
	`display_name`,
	`start`,
	content = '',
	contentless_delete = 1,
	detail = none,
	tokenize = 'trigram case_sensitive 1'
);
--> statement-breakpoint
-- Automatic merges are off, because each batch merges some pages. The unbounded crisis merge is only a last resort.
INSERT INTO `user_search` (`user_search`, `rank`) VALUES ('automerge', 0), ('usermerge', 2), ('crisismerge', 64);
--> statement-breakpoint
CREATE TRIGGER `subscription_made` AFTER INSERT ON `subscriptions` BEGIN
	INSERT INTO `subscription_counts` VALUES (new.`app_id`, 1)
	ON CONFLICT (`application_id`) DO UPDATE SET `subscriptions` = `subscriptions` + 1;
END;
--> statement-breakpoint
CREATE TRIGGER `subscription_removed` AFTER DELETE ON `subscriptions` BEGIN
	UPDATE `subscription_counts` SET `subscriptions` = `subscriptions` - 1 WHERE `application_id` = old.`app_id`;
END;
