DROP INDEX `refresh_tokens_family`;--> statement-breakpoint
CREATE INDEX `refresh_tokens_of_family` ON `refresh_tokens` (`family_id`,`expires_at`);