CREATE INDEX CONCURRENTLY "refresh_tokens_of_family" ON "refresh_tokens" USING btree ("family_id","expires_at");--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "refresh_tokens_family";