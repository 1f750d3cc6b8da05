CREATE SEQUENCE "delivery_numbers" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1;--> statement-breakpoint
CREATE TABLE "application_requests" (
	"application_id" text PRIMARY KEY NOT NULL,
	"hours" json NOT NULL,
	"refused" json NOT NULL
);
--> statement-breakpoint
CREATE TABLE "applications" (
	"id" text COLLATE "C" PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"client_type" text NOT NULL,
	"client_secret_hash" "bytea" NOT NULL,
	"delivery" text DEFAULT 'webhook' NOT NULL,
	"webhook_url" text,
	"former_urls" json DEFAULT '[]'::json NOT NULL,
	"webhook_headers" json DEFAULT '[]'::json NOT NULL,
	"webhook_secret" text NOT NULL,
	"retired_webhook_secrets" json DEFAULT '[]'::json NOT NULL,
	"filters" json DEFAULT '{}'::json NOT NULL,
	"filters_generation" bigint DEFAULT 0 NOT NULL,
	"retired_client_secrets" json DEFAULT '[]'::json NOT NULL,
	"client_secret_prefix" text NOT NULL,
	"client_secret_created_at" bigint NOT NULL,
	"webhook_secret_created_at" bigint NOT NULL,
	"locked" text[] DEFAULT '{}' NOT NULL,
	"owner_user_id" bigint,
	"disabled" boolean DEFAULT false NOT NULL,
	"endpoint_generation" bigint DEFAULT 0 NOT NULL,
	"scopes" text[] NOT NULL,
	"redirect_uris" text[] NOT NULL,
	"rate_limit" bigint,
	"subscription_limit" bigint,
	"webhook_concurrency" bigint,
	"created_at" text NOT NULL,
	"updated_at" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "audit" (
	"seq" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "audit_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"merge_key" text,
	"at" bigint NOT NULL,
	"last_at" bigint NOT NULL,
	"count" bigint NOT NULL,
	"actor_kind" text NOT NULL,
	"actor_id" text NOT NULL,
	"actor_name" text NOT NULL,
	"action" text NOT NULL,
	"object" text NOT NULL,
	"object_id" text,
	"object_name" text,
	"fields" text[] NOT NULL,
	"changes" json NOT NULL,
	"address" text NOT NULL,
	"request_id" text NOT NULL,
	"accepted" bigint,
	"ended" bigint,
	CONSTRAINT "audit_merge_key_unique" UNIQUE("merge_key")
);
--> statement-breakpoint
CREATE TABLE "authorization_codes" (
	"hash" "bytea" PRIMARY KEY NOT NULL,
	"application_id" text COLLATE "C" NOT NULL,
	"user_id" bigint NOT NULL,
	"scopes" text[] NOT NULL,
	"redirect_uri" text NOT NULL,
	"code_challenge" text NOT NULL,
	"family_id" text COLLATE "C" NOT NULL,
	"expires_at" bigint NOT NULL,
	"used_at" bigint
);
--> statement-breakpoint
CREATE TABLE "categories" (
	"id" bigint PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"slug" text NOT NULL,
	"icon" text,
	"banner" text,
	"description" text NOT NULL,
	"tags" json NOT NULL,
	CONSTRAINT "categories_slug_unique" UNIQUE("slug")
);
--> statement-breakpoint
CREATE TABLE "category_orders" (
	"taken_at" double precision PRIMARY KEY NOT NULL,
	"content" "bytea" NOT NULL,
	"used_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "channels" (
	"id" bigint PRIMARY KEY NOT NULL,
	"user_id" bigint NOT NULL,
	"slug" text NOT NULL,
	"name" text NOT NULL,
	"profile_image" text,
	CONSTRAINT "channels_slug_unique" UNIQUE("slug")
);
--> statement-breakpoint
CREATE TABLE "consents" (
	"application_id" text COLLATE "C" NOT NULL,
	"user_id" bigint NOT NULL,
	"scopes" text[] NOT NULL,
	"created_at" text NOT NULL,
	"updated_at" text NOT NULL,
	CONSTRAINT "consents_user_id_application_id_pk" PRIMARY KEY("user_id","application_id")
);
--> statement-breakpoint
CREATE TABLE "deliveries" (
	"seq" bigint PRIMARY KEY NOT NULL,
	"id" text COLLATE "C" NOT NULL,
	"event_seq" bigint NOT NULL,
	"event_id" text COLLATE "C" NOT NULL,
	"type" text COLLATE "C" NOT NULL,
	"version" bigint NOT NULL,
	"broadcaster_user_id" bigint NOT NULL,
	"published_at" bigint NOT NULL,
	"application_id" text COLLATE "C" NOT NULL,
	"subscription_id" text COLLATE "C" NOT NULL,
	"sequence" bigint NOT NULL,
	"status" text COLLATE "C" NOT NULL,
	"attempts" smallint DEFAULT 0 NOT NULL,
	"extra_attempts" smallint DEFAULT 0 NOT NULL,
	"next_attempt_at" bigint,
	"resume_at" bigint,
	"expires_at" bigint,
	"finished_at" bigint,
	"attempt_log" json[] DEFAULT '{}' NOT NULL
) PARTITION BY RANGE ("seq");
--> statement-breakpoint
CREATE TABLE "delivery_parts" (
	"part" bigint PRIMARY KEY NOT NULL,
	"begun_at" bigint NOT NULL,
	"ended_at" bigint,
	"deliveries_cleaned_at" bigint,
	"bodies_cleaned_at" bigint
);
--> statement-breakpoint
CREATE TABLE "delivery_times" (
	"at" bigint PRIMARY KEY NOT NULL,
	"seq" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "endpoint_shards" (
	"shard" smallint PRIMARY KEY NOT NULL,
	"owner" bigint,
	"epoch" bigint DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE "endpoints" (
	"application_id" text COLLATE "C" PRIMARY KEY NOT NULL,
	"failing_since" bigint,
	"failures" bigint NOT NULL,
	"warned_at" bigint,
	"disabled_at" bigint,
	"disabled_reason" text,
	"last_success_at" bigint,
	"last_failure_at" bigint,
	"last_failure_status" bigint,
	"last_failure_error" text,
	"last_failure_outcome" text,
	"paused_until" bigint,
	"revision" bigint NOT NULL,
	"last_failing_since" bigint,
	"resumes_at" bigint
);
--> statement-breakpoint
CREATE TABLE "event_ids" (
	"id" text COLLATE "C" PRIMARY KEY NOT NULL,
	"seq" bigint NOT NULL,
	"name" text NOT NULL,
	"version" bigint NOT NULL,
	"broadcaster_user_id" bigint NOT NULL,
	"published_at" bigint NOT NULL,
	"fingerprint" "bytea" NOT NULL,
	"deliveries" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "event_types" (
	"name" text COLLATE "C" NOT NULL,
	"version" bigint NOT NULL,
	"description" text NOT NULL,
	"schema" json NOT NULL,
	"example" json NOT NULL,
	"time_to_live_seconds" bigint,
	"is_published" boolean DEFAULT false NOT NULL,
	"created_at" text NOT NULL,
	"updated_at" text NOT NULL,
	CONSTRAINT "event_types_name_version_pk" PRIMARY KEY("name","version")
);
--> statement-breakpoint
CREATE TABLE "events" (
	"seq" bigint PRIMARY KEY NOT NULL,
	"body" text NOT NULL
) PARTITION BY RANGE ("seq");
--> statement-breakpoint
CREATE TABLE "idempotency_keys" (
	"key" text PRIMARY KEY NOT NULL,
	"fingerprint" "bytea" NOT NULL,
	"first_seen_at" bigint NOT NULL,
	"status" bigint,
	"answer" text
);
--> statement-breakpoint
CREATE TABLE "livestreams" (
	"channel_id" bigint PRIMARY KEY NOT NULL,
	"category_id" bigint NOT NULL,
	"viewers" bigint NOT NULL,
	"title" text NOT NULL,
	"language" text NOT NULL,
	"started_at" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "login_requests" (
	"challenge_hash" "bytea" PRIMARY KEY NOT NULL,
	"browser_hash" "bytea" NOT NULL,
	"application_id" text COLLATE "C" NOT NULL,
	"redirect_uri" text NOT NULL,
	"scopes" text[] NOT NULL,
	"state" text,
	"code_challenge" text NOT NULL,
	"expires_at" bigint NOT NULL,
	"verifier_hash" "bytea",
	"answer" json NOT NULL,
	"user_id" bigint,
	CONSTRAINT "login_requests_verifier_hash_unique" UNIQUE("verifier_hash")
);
--> statement-breakpoint
CREATE TABLE "notices" (
	"seq" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "notices_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"id" text NOT NULL,
	"type" text NOT NULL,
	"application_id" text,
	"body" text NOT NULL,
	"created_at" bigint NOT NULL,
	"status" text NOT NULL,
	"attempts" bigint NOT NULL,
	"next_attempt_at" bigint,
	"error" text,
	CONSTRAINT "notices_id_unique" UNIQUE("id")
);
--> statement-breakpoint
CREATE TABLE "operator_keys" (
	"id" text COLLATE "C" PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"role" text NOT NULL,
	"source" text NOT NULL,
	"hash" text NOT NULL,
	"prefix" text NOT NULL,
	"created_at" bigint NOT NULL,
	"expires_at" bigint,
	"last_used_at" bigint,
	"shown_at" bigint,
	CONSTRAINT "operator_keys_name_unique" UNIQUE("name"),
	CONSTRAINT "operator_keys_hash_unique" UNIQUE("hash")
);
--> statement-breakpoint
CREATE TABLE "operator_sessions" (
	"hash" "bytea" PRIMARY KEY NOT NULL,
	"expires_at" bigint NOT NULL,
	"key_id" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "refresh_tokens" (
	"hash" "bytea" PRIMARY KEY NOT NULL,
	"application_id" text COLLATE "C" NOT NULL,
	"user_id" bigint NOT NULL,
	"scopes" text[] NOT NULL,
	"family_id" text COLLATE "C" NOT NULL,
	"expires_at" bigint NOT NULL,
	"parent_hash" "bytea",
	"rotated_at" bigint
);
--> statement-breakpoint
CREATE TABLE "removed_deliveries" (
	"application_id" text COLLATE "C" PRIMARY KEY NOT NULL,
	"up_to" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "replays" (
	"id" text COLLATE "C" PRIMARY KEY NOT NULL,
	"application_id" text COLLATE "C" NOT NULL,
	"broadcaster_user_id" bigint,
	"subscription_id" text COLLATE "C",
	"of_broadcaster" bigint,
	"status" text COLLATE "C",
	"type" text COLLATE "C",
	"from_at" bigint NOT NULL,
	"to_at" bigint NOT NULL,
	"dry_run" boolean NOT NULL,
	"state" text NOT NULL,
	"first" bigint NOT NULL,
	"end" bigint NOT NULL,
	"position" bigint NOT NULL,
	"matched" bigint DEFAULT 0 NOT NULL,
	"queued" bigint DEFAULT 0 NOT NULL,
	"skipped_body" bigint DEFAULT 0 NOT NULL,
	"skipped_subscription" bigint DEFAULT 0 NOT NULL,
	"skipped_attempts" bigint DEFAULT 0 NOT NULL,
	"created_at" bigint NOT NULL,
	"finished_at" bigint
);
--> statement-breakpoint
CREATE TABLE "replicas" (
	"id" bigint PRIMARY KEY NOT NULL,
	"alive_until" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "settings" (
	"key" text PRIMARY KEY NOT NULL,
	"value" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "statistics" (
	"kind" text NOT NULL,
	"subject" text NOT NULL,
	"period" text NOT NULL,
	"at" bigint NOT NULL,
	"counts" json NOT NULL,
	"durations" json NOT NULL,
	CONSTRAINT "statistics_kind_subject_period_at_pk" PRIMARY KEY("kind","subject","period","at")
);
--> statement-breakpoint
CREATE TABLE "subscriptions" (
	"id" text COLLATE "C" PRIMARY KEY NOT NULL,
	"app_id" text COLLATE "C" NOT NULL,
	"broadcaster_user_id" bigint,
	"event" text COLLATE "C" NOT NULL,
	"version" bigint NOT NULL,
	"sequence" bigint DEFAULT 0 NOT NULL,
	"created_at" text NOT NULL,
	"updated_at" text NOT NULL,
	"published_by" bigint,
	CONSTRAINT "subscriptions_key" UNIQUE NULLS NOT DISTINCT("app_id","broadcaster_user_id","event","version")
) WITH (fillfactor = 80);
--> statement-breakpoint
CREATE TABLE "tags" (
	"id" bigint PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	CONSTRAINT "tags_name_unique" UNIQUE("name")
);
--> statement-breakpoint
CREATE TABLE "tokens" (
	"hash" "bytea" PRIMARY KEY NOT NULL,
	"application_id" text COLLATE "C" NOT NULL,
	"user_id" bigint,
	"scopes" text[] NOT NULL,
	"expires_at" bigint NOT NULL,
	"family_id" text COLLATE "C",
	"refresh_hash" "bytea",
	"created_at" bigint NOT NULL,
	"last_used_at" bigint,
	"made" bigint GENERATED ALWAYS AS IDENTITY (sequence name "tokens_made_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1)
);
--> statement-breakpoint
CREATE TABLE "user_search" (
	"user_id" bigint PRIMARY KEY NOT NULL,
	"terms" integer[] NOT NULL,
	"popularity" smallint NOT NULL
) WITH (fillfactor = 90);
--> statement-breakpoint
CREATE TABLE "users" (
	"id" bigint PRIMARY KEY NOT NULL,
	"username" text NOT NULL,
	"display_name" text NOT NULL,
	"bio" text NOT NULL,
	"profile_picture" text,
	"followers_count" bigint NOT NULL,
	"following_count" bigint NOT NULL,
	"is_verified" boolean NOT NULL,
	"created_at" text NOT NULL,
	"folded" text COLLATE "C" NOT NULL
);
--> statement-breakpoint
ALTER TABLE "application_requests" ADD CONSTRAINT "application_requests_application_id_applications_id_fk" FOREIGN KEY ("application_id") REFERENCES "applications"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "applications" ADD CONSTRAINT "applications_owner_user_id_users_id_fk" FOREIGN KEY ("owner_user_id") REFERENCES "users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "authorization_codes" ADD CONSTRAINT "authorization_codes_application_id_applications_id_fk" FOREIGN KEY ("application_id") REFERENCES "applications"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "authorization_codes" ADD CONSTRAINT "authorization_codes_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "channels" ADD CONSTRAINT "channels_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "consents" ADD CONSTRAINT "consents_application_id_applications_id_fk" FOREIGN KEY ("application_id") REFERENCES "applications"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "consents" ADD CONSTRAINT "consents_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "endpoints" ADD CONSTRAINT "endpoints_application_id_applications_id_fk" FOREIGN KEY ("application_id") REFERENCES "applications"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "livestreams" ADD CONSTRAINT "livestreams_channel_id_channels_id_fk" FOREIGN KEY ("channel_id") REFERENCES "channels"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "livestreams" ADD CONSTRAINT "livestreams_category_id_categories_id_fk" FOREIGN KEY ("category_id") REFERENCES "categories"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "login_requests" ADD CONSTRAINT "login_requests_application_id_applications_id_fk" FOREIGN KEY ("application_id") REFERENCES "applications"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "login_requests" ADD CONSTRAINT "login_requests_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "notices" ADD CONSTRAINT "notices_application_id_applications_id_fk" FOREIGN KEY ("application_id") REFERENCES "applications"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "refresh_tokens" ADD CONSTRAINT "refresh_tokens_application_id_applications_id_fk" FOREIGN KEY ("application_id") REFERENCES "applications"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "refresh_tokens" ADD CONSTRAINT "refresh_tokens_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "removed_deliveries" ADD CONSTRAINT "removed_deliveries_application_id_applications_id_fk" FOREIGN KEY ("application_id") REFERENCES "applications"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "replays" ADD CONSTRAINT "replays_application_id_applications_id_fk" FOREIGN KEY ("application_id") REFERENCES "applications"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "subscriptions" ADD CONSTRAINT "subscriptions_app_id_applications_id_fk" FOREIGN KEY ("app_id") REFERENCES "applications"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "subscriptions" ADD CONSTRAINT "subscriptions_broadcaster_user_id_users_id_fk" FOREIGN KEY ("broadcaster_user_id") REFERENCES "users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tokens" ADD CONSTRAINT "tokens_application_id_applications_id_fk" FOREIGN KEY ("application_id") REFERENCES "applications"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tokens" ADD CONSTRAINT "tokens_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "user_search" ADD CONSTRAINT "user_search_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "applications_owner" ON "applications" USING btree ("owner_user_id");--> statement-breakpoint
CREATE INDEX "audit_at" ON "audit" USING btree ("at");--> statement-breakpoint
CREATE INDEX "audit_actor" ON "audit" USING btree ("actor_id","seq");--> statement-breakpoint
CREATE INDEX "audit_action" ON "audit" USING btree ("action","seq");--> statement-breakpoint
CREATE INDEX "audit_object" ON "audit" USING btree ("object","object_id","seq");--> statement-breakpoint
CREATE INDEX "authorization_codes_expiry" ON "authorization_codes" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "authorization_codes_application" ON "authorization_codes" USING btree ("application_id");--> statement-breakpoint
CREATE INDEX "authorization_codes_user" ON "authorization_codes" USING btree ("user_id","application_id");--> statement-breakpoint
CREATE INDEX "category_orders_use" ON "category_orders" USING btree ("used_at");--> statement-breakpoint
CREATE INDEX "channels_user" ON "channels" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "consents_application" ON "consents" USING btree ("application_id");--> statement-breakpoint
CREATE INDEX "deliveries_id" ON "deliveries" USING btree ("id");--> statement-breakpoint
CREATE INDEX "deliveries_application" ON "deliveries" USING btree ("application_id","seq");--> statement-breakpoint
CREATE INDEX "deliveries_event" ON "deliveries" USING btree ("event_id");--> statement-breakpoint
CREATE INDEX "deliveries_due" ON "deliveries" USING btree ("application_id","next_attempt_at","seq") WHERE "deliveries"."status" = 'pending';--> statement-breakpoint
CREATE INDEX "deliveries_backlog" ON "deliveries" USING btree ("subscription_id","seq") WHERE "deliveries"."status" = 'pending';--> statement-breakpoint
CREATE INDEX "deliveries_failed" ON "deliveries" USING btree ("application_id","seq") WHERE "deliveries"."status" IN ('failed', 'expired', 'canceled');--> statement-breakpoint
CREATE INDEX "event_ids_seq" ON "event_ids" USING btree ("seq");--> statement-breakpoint
CREATE INDEX "idempotency_keys_age" ON "idempotency_keys" USING btree ("first_seen_at");--> statement-breakpoint
CREATE INDEX "livestreams_category" ON "livestreams" USING btree ("category_id");--> statement-breakpoint
CREATE INDEX "login_requests_expiry" ON "login_requests" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "login_requests_application" ON "login_requests" USING btree ("application_id");--> statement-breakpoint
CREATE INDEX "login_requests_user" ON "login_requests" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "notices_application" ON "notices" USING btree ("application_id","seq");--> statement-breakpoint
CREATE INDEX "notices_created" ON "notices" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "notices_due" ON "notices" USING btree ("next_attempt_at") WHERE "notices"."status" = 'pending';--> statement-breakpoint
CREATE INDEX "refresh_tokens_expiry" ON "refresh_tokens" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "refresh_tokens_application" ON "refresh_tokens" USING btree ("application_id");--> statement-breakpoint
CREATE INDEX "refresh_tokens_user" ON "refresh_tokens" USING btree ("user_id","application_id");--> statement-breakpoint
CREATE INDEX "refresh_tokens_of_family" ON "refresh_tokens" USING btree ("family_id","expires_at");--> statement-breakpoint
CREATE INDEX "replays_application" ON "replays" USING btree ("application_id");--> statement-breakpoint
CREATE INDEX "replays_running" ON "replays" USING btree ("id") WHERE "replays"."state" = 'running';--> statement-breakpoint
CREATE INDEX "statistics_period" ON "statistics" USING btree ("period","at");--> statement-breakpoint
CREATE INDEX "subscriptions_event" ON "subscriptions" USING btree ("broadcaster_user_id","event","version");--> statement-breakpoint
CREATE INDEX "subscriptions_list" ON "subscriptions" USING btree ("app_id","id");--> statement-breakpoint
CREATE INDEX "tokens_expiry" ON "tokens" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "tokens_application" ON "tokens" USING btree ("application_id","expires_at");--> statement-breakpoint
CREATE INDEX "tokens_own" ON "tokens" USING btree ("application_id","made") WHERE "tokens"."user_id" IS NULL;--> statement-breakpoint
CREATE INDEX "tokens_user" ON "tokens" USING btree ("user_id","application_id");--> statement-breakpoint
CREATE INDEX "tokens_family" ON "tokens" USING btree ("family_id") WHERE "tokens"."family_id" IS NOT NULL;--> statement-breakpoint
CREATE INDEX "user_search_terms" ON "user_search" USING gin ("terms") WITH (gin_pending_list_limit=256);--> statement-breakpoint
CREATE UNIQUE INDEX "users_username" ON "users" USING btree (lower("username" COLLATE "C"));--> statement-breakpoint
CREATE INDEX "users_popularity" ON "users" USING btree ("followers_count" DESC NULLS FIRST,"id") INCLUDE ("folded");
--> statement-breakpoint
-- One part to write to, and the next one.
CREATE TABLE "deliveries_0" PARTITION OF "deliveries" FOR VALUES FROM (0) TO (268435456);
--> statement-breakpoint
CREATE TABLE "deliveries_1" PARTITION OF "deliveries" FOR VALUES FROM (268435456) TO (536870912);
--> statement-breakpoint
CREATE TABLE "events_0" PARTITION OF "events" FOR VALUES FROM (0) TO (268435456);
--> statement-breakpoint
CREATE TABLE "events_1" PARTITION OF "events" FOR VALUES FROM (268435456) TO (536870912);
--> statement-breakpoint
INSERT INTO "endpoint_shards" ("shard") SELECT generate_series(0, 255);
--> statement-breakpoint
-- Enough statistics that a search knows which terms are common: all others are rare.
ALTER TABLE "user_search" ALTER COLUMN "terms" SET STATISTICS 1000;
--> statement-breakpoint
-- How popular a user is, on a coarse scale that seldom changes. It never decreases with more followers.
CREATE FUNCTION onair_popularity(followers bigint) RETURNS smallint LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN trunc(2 * ln(followers::float8 + 1))::smallint;
--> statement-breakpoint
-- The triggers below notify all replicas of a statement's changes with its commit. A notification has at most 8,000
-- bytes, so this one names its rows in parts.
CREATE FUNCTION onair_tell_rows() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE part json;
BEGIN
  FOR part IN EXECUTE format(
    'SELECT json_agg(%1$I) FROM (SELECT %1$I, (row_number() OVER () - 1) / 400 AS n FROM changed) c GROUP BY n', TG_ARGV[1])
  LOOP
    PERFORM pg_notify('onair_changes', json_build_object('kind', TG_ARGV[0], 'ids', part)::text);
  END LOOP;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE FUNCTION onair_tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('onair_changes', json_build_object('kind', TG_ARGV[0])::text);
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE FUNCTION onair_tell_if_any() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM changed) THEN
    PERFORM pg_notify('onair_changes', json_build_object('kind', TG_ARGV[0])::text);
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER categories_insert_told AFTER INSERT ON "categories" REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION onair_tell_rows('categories', 'id');
--> statement-breakpoint
CREATE TRIGGER categories_update_told AFTER UPDATE ON "categories" REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION onair_tell_rows('categories', 'id');
--> statement-breakpoint
CREATE TRIGGER categories_delete_told AFTER DELETE ON "categories" REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION onair_tell_rows('categories', 'id');
--> statement-breakpoint
CREATE TRIGGER livestreams_insert_told AFTER INSERT ON "livestreams" REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION onair_tell_rows('livestreams', 'channel_id');
--> statement-breakpoint
CREATE TRIGGER livestreams_update_told AFTER UPDATE ON "livestreams" REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION onair_tell_rows('livestreams', 'channel_id');
--> statement-breakpoint
CREATE TRIGGER livestreams_delete_told AFTER DELETE ON "livestreams" REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION onair_tell_rows('livestreams', 'channel_id');
--> statement-breakpoint
CREATE TRIGGER applications_update_told AFTER UPDATE ON "applications" REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION onair_tell_if_any('callers');
--> statement-breakpoint
CREATE TRIGGER applications_delete_told AFTER DELETE ON "applications" REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION onair_tell_if_any('callers');
--> statement-breakpoint
CREATE TRIGGER tokens_delete_told AFTER DELETE ON "tokens" REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION onair_tell_if_any('callers');
--> statement-breakpoint
-- The last use of a token changes nothing for its callers.
CREATE FUNCTION onair_tell_tokens() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM changed LEFT JOIN former USING (hash)
             WHERE to_jsonb(changed) - 'last_used_at' IS DISTINCT FROM to_jsonb(former) - 'last_used_at') THEN
    PERFORM pg_notify('onair_changes', json_build_object('kind', TG_ARGV[0])::text);
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER tokens_update_told AFTER UPDATE ON "tokens" REFERENCING OLD TABLE AS former NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION onair_tell_tokens('callers');
--> statement-breakpoint
CREATE TRIGGER users_update_told AFTER UPDATE ON "users" REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION onair_tell_if_any('channels');
--> statement-breakpoint
CREATE TRIGGER users_delete_told AFTER DELETE ON "users" REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION onair_tell_if_any('channels');
--> statement-breakpoint
CREATE TRIGGER users_delete_told_to_callers AFTER DELETE ON "users" REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION onair_tell_if_any('callers');
--> statement-breakpoint
CREATE TRIGGER channels_insert_told AFTER INSERT ON "channels" REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION onair_tell_if_any('channels');
--> statement-breakpoint
CREATE TRIGGER channels_update_told AFTER UPDATE ON "channels" REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION onair_tell_if_any('channels');
--> statement-breakpoint
CREATE TRIGGER channels_delete_told AFTER DELETE ON "channels" REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION onair_tell_if_any('channels');
--> statement-breakpoint
CREATE TRIGGER event_types_told AFTER INSERT OR DELETE OR UPDATE OF name, version, description, schema, example, time_to_live_seconds ON "event_types"
  FOR EACH STATEMENT EXECUTE FUNCTION onair_tell('event_types');
--> statement-breakpoint
CREATE TRIGGER operator_keys_told AFTER INSERT OR DELETE OR UPDATE OF name, role, source, hash, expires_at, shown_at ON "operator_keys"
  FOR EACH STATEMENT EXECUTE FUNCTION onair_tell('operator_keys');
