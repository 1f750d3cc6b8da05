CREATE TABLE "applications" (
	"id" text COLLATE "C" PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"client_type" text NOT NULL,
	"client_secret_hash" bytea NOT NULL,
	"delivery" text DEFAULT 'webhook' NOT NULL,
	"webhook_url" text,
	"webhook_secret" text NOT NULL,
	"retired_webhook_secrets" json DEFAULT '[]'::json NOT NULL,
	"retired_client_secrets" json DEFAULT '[]'::json NOT NULL,
	"client_secret_prefix" text,
	"client_secret_created_at" bigint,
	"webhook_secret_created_at" bigint,
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
CREATE TABLE "authorization_codes" (
	"hash" bytea PRIMARY KEY NOT NULL,
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
CREATE TABLE "consents" (
	"application_id" text COLLATE "C" NOT NULL,
	"user_id" bigint NOT NULL,
	"scopes" text[] NOT NULL,
	"created_at" text NOT NULL,
	"updated_at" text NOT NULL,
	CONSTRAINT "consents_user_id_application_id_pk" PRIMARY KEY("user_id","application_id")
);
--> statement-breakpoint
CREATE TABLE "login_requests" (
	"challenge_hash" bytea PRIMARY KEY NOT NULL,
	"made" bigint GENERATED ALWAYS AS IDENTITY (sequence name "login_requests_made_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"browser_hash" bytea NOT NULL,
	"client" text NOT NULL,
	"application_id" text COLLATE "C" NOT NULL,
	"redirect_uri" text NOT NULL,
	"scopes" text[] NOT NULL,
	"state" text,
	"code_challenge" text NOT NULL,
	"expires_at" bigint NOT NULL,
	"verifier_hash" bytea,
	"answer" json,
	"user_id" bigint,
	CONSTRAINT "login_requests_verifier_hash_unique" UNIQUE("verifier_hash")
);
--> statement-breakpoint
CREATE TABLE "refresh_tokens" (
	"hash" bytea PRIMARY KEY NOT NULL,
	"application_id" text COLLATE "C" NOT NULL,
	"user_id" bigint NOT NULL,
	"scopes" text[] NOT NULL,
	"family_id" text COLLATE "C" NOT NULL,
	"expires_at" bigint NOT NULL,
	"rotated_at" bigint
);
--> statement-breakpoint
CREATE TABLE "tokens" (
	"hash" bytea PRIMARY KEY NOT NULL,
	"made" bigint GENERATED ALWAYS AS IDENTITY (sequence name "tokens_made_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"application_id" text COLLATE "C" NOT NULL,
	"user_id" bigint,
	"scopes" text[] NOT NULL,
	"expires_at" bigint NOT NULL,
	"family_id" text COLLATE "C"
);
--> statement-breakpoint
CREATE TABLE "idempotency_keys" (
	"key" text PRIMARY KEY NOT NULL,
	"fingerprint" bytea NOT NULL,
	"first_seen_at" bigint NOT NULL,
	"status" bigint,
	"answer" text
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
CREATE TABLE "settings" (
	"key" text PRIMARY KEY NOT NULL,
	"value" text NOT NULL
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
CREATE TABLE "channels" (
	"id" bigint PRIMARY KEY NOT NULL,
	"user_id" bigint NOT NULL,
	"slug" text NOT NULL,
	"name" text NOT NULL,
	"profile_image" text,
	CONSTRAINT "channels_slug_unique" UNIQUE("slug")
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
CREATE TABLE "tags" (
	"id" bigint PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	CONSTRAINT "tags_name_unique" UNIQUE("name")
);
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
	"created_at" text NOT NULL
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
CREATE TABLE "subscriptions" (
	"id" text COLLATE "C" PRIMARY KEY NOT NULL,
	"app_id" text COLLATE "C" NOT NULL,
	"broadcaster_user_id" bigint,
	"event" text COLLATE "C" NOT NULL,
	"version" bigint NOT NULL,
	"sequence" bigint DEFAULT 0 NOT NULL,
	"created_at" text NOT NULL,
	"updated_at" text NOT NULL,
	CONSTRAINT "subscriptions_key" UNIQUE NULLS NOT DISTINCT("app_id","broadcaster_user_id","event","version")
) WITH (fillfactor = 80);
--> statement-breakpoint
ALTER TABLE "applications" ADD CONSTRAINT "applications_owner_user_id_users_id_fk" FOREIGN KEY ("owner_user_id") REFERENCES "users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "authorization_codes" ADD CONSTRAINT "authorization_codes_application_id_applications_id_fk" FOREIGN KEY ("application_id") REFERENCES "applications"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "authorization_codes" ADD CONSTRAINT "authorization_codes_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "consents" ADD CONSTRAINT "consents_application_id_applications_id_fk" FOREIGN KEY ("application_id") REFERENCES "applications"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "consents" ADD CONSTRAINT "consents_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "login_requests" ADD CONSTRAINT "login_requests_application_id_applications_id_fk" FOREIGN KEY ("application_id") REFERENCES "applications"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "login_requests" ADD CONSTRAINT "login_requests_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "refresh_tokens" ADD CONSTRAINT "refresh_tokens_application_id_applications_id_fk" FOREIGN KEY ("application_id") REFERENCES "applications"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "refresh_tokens" ADD CONSTRAINT "refresh_tokens_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tokens" ADD CONSTRAINT "tokens_application_id_applications_id_fk" FOREIGN KEY ("application_id") REFERENCES "applications"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tokens" ADD CONSTRAINT "tokens_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "channels" ADD CONSTRAINT "channels_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "livestreams" ADD CONSTRAINT "livestreams_channel_id_channels_id_fk" FOREIGN KEY ("channel_id") REFERENCES "channels"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "livestreams" ADD CONSTRAINT "livestreams_category_id_categories_id_fk" FOREIGN KEY ("category_id") REFERENCES "categories"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "subscriptions" ADD CONSTRAINT "subscriptions_app_id_applications_id_fk" FOREIGN KEY ("app_id") REFERENCES "applications"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "subscriptions" ADD CONSTRAINT "subscriptions_broadcaster_user_id_users_id_fk" FOREIGN KEY ("broadcaster_user_id") REFERENCES "users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "applications_owner" ON "applications" USING btree ("owner_user_id");--> statement-breakpoint
CREATE INDEX "authorization_codes_expiry" ON "authorization_codes" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "authorization_codes_application" ON "authorization_codes" USING btree ("application_id");--> statement-breakpoint
CREATE INDEX "authorization_codes_user" ON "authorization_codes" USING btree ("user_id","application_id");--> statement-breakpoint
CREATE INDEX "consents_application" ON "consents" USING btree ("application_id");--> statement-breakpoint
CREATE INDEX "login_requests_expiry" ON "login_requests" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "login_requests_application" ON "login_requests" USING btree ("application_id","made");--> statement-breakpoint
CREATE INDEX "login_requests_client" ON "login_requests" USING btree ("client","made");--> statement-breakpoint
CREATE INDEX "login_requests_user" ON "login_requests" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "refresh_tokens_expiry" ON "refresh_tokens" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "refresh_tokens_application" ON "refresh_tokens" USING btree ("application_id");--> statement-breakpoint
CREATE INDEX "refresh_tokens_user" ON "refresh_tokens" USING btree ("user_id","application_id");--> statement-breakpoint
CREATE INDEX "refresh_tokens_family" ON "refresh_tokens" USING btree ("family_id");--> statement-breakpoint
CREATE INDEX "tokens_expiry" ON "tokens" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "tokens_application" ON "tokens" USING btree ("application_id","expires_at");--> statement-breakpoint
CREATE INDEX "tokens_own" ON "tokens" USING btree ("application_id","made") WHERE "tokens"."user_id" IS NULL;--> statement-breakpoint
CREATE INDEX "tokens_user" ON "tokens" USING btree ("user_id","application_id");--> statement-breakpoint
CREATE INDEX "tokens_family" ON "tokens" USING btree ("family_id") WHERE "tokens"."family_id" IS NOT NULL;--> statement-breakpoint
CREATE INDEX "idempotency_keys_age" ON "idempotency_keys" USING btree ("first_seen_at");--> statement-breakpoint
CREATE INDEX "channels_user" ON "channels" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "livestreams_category" ON "livestreams" USING btree ("category_id");--> statement-breakpoint
CREATE UNIQUE INDEX "users_username" ON "users" USING btree (lower("username" COLLATE "C"));--> statement-breakpoint
CREATE INDEX "subscriptions_event" ON "subscriptions" USING btree ("broadcaster_user_id","event","version");--> statement-breakpoint
CREATE INDEX "subscriptions_list" ON "subscriptions" USING btree ("app_id","id");