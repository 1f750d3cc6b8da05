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
	`answer` text,
	`user_id` integer,
	FOREIGN KEY (`application_id`) REFERENCES `applications`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `login_requests_verifier_hash_unique` ON `login_requests` (`verifier_hash`);--> statement-breakpoint
CREATE INDEX `login_requests_expiry` ON `login_requests` (`expires_at`);--> statement-breakpoint
CREATE INDEX `login_requests_application` ON `login_requests` (`application_id`);--> statement-breakpoint
CREATE INDEX `login_requests_user` ON `login_requests` (`user_id`);--> statement-breakpoint
CREATE TABLE `refresh_tokens` (
	`hash` blob PRIMARY KEY NOT NULL,
	`application_id` text NOT NULL,
	`user_id` integer NOT NULL,
	`scopes` text NOT NULL,
	`family_id` text NOT NULL,
	`expires_at` integer NOT NULL,
	`rotated_at` integer,
	FOREIGN KEY (`application_id`) REFERENCES `applications`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `refresh_tokens_expiry` ON `refresh_tokens` (`expires_at`);--> statement-breakpoint
CREATE INDEX `refresh_tokens_application` ON `refresh_tokens` (`application_id`);--> statement-breakpoint
CREATE INDEX `refresh_tokens_user` ON `refresh_tokens` (`user_id`);--> statement-breakpoint
CREATE INDEX `refresh_tokens_family` ON `refresh_tokens` (`family_id`);--> statement-breakpoint
ALTER TABLE `applications` ADD `client_type` text DEFAULT 'confidential' NOT NULL;--> statement-breakpoint
ALTER TABLE `tokens` ADD `family_id` text;--> statement-breakpoint
CREATE INDEX `tokens_family` ON `tokens` (`family_id`);