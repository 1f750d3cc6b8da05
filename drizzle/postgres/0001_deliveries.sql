CREATE SEQUENCE "delivery_numbers" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1;--> statement-breakpoint
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
	"owner" text,
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
	"last_failure_outcome" text
);
--> statement-breakpoint
CREATE TABLE "event_ids" (
	"id" text COLLATE "C" PRIMARY KEY NOT NULL,
	"seq" bigint NOT NULL,
	"fingerprint" bytea NOT NULL,
	"deliveries" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "events" (
	"seq" bigint PRIMARY KEY NOT NULL,
	"body" text NOT NULL
) PARTITION BY RANGE ("seq");
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
ALTER TABLE "endpoints" ADD CONSTRAINT "endpoints_application_id_applications_id_fk" FOREIGN KEY ("application_id") REFERENCES "applications"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "removed_deliveries" ADD CONSTRAINT "removed_deliveries_application_id_applications_id_fk" FOREIGN KEY ("application_id") REFERENCES "applications"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "replays" ADD CONSTRAINT "replays_application_id_applications_id_fk" FOREIGN KEY ("application_id") REFERENCES "applications"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "deliveries_id" ON "deliveries" USING btree ("id");--> statement-breakpoint
CREATE INDEX "deliveries_application" ON "deliveries" USING btree ("application_id","seq");--> statement-breakpoint
CREATE INDEX "deliveries_due" ON "deliveries" USING btree ("application_id","next_attempt_at","seq") WHERE "deliveries"."status" = 'pending';--> statement-breakpoint
CREATE INDEX "deliveries_backlog" ON "deliveries" USING btree ("subscription_id","seq") WHERE "deliveries"."status" = 'pending';--> statement-breakpoint
CREATE INDEX "deliveries_failed" ON "deliveries" USING btree ("application_id","seq") WHERE "deliveries"."status" IN ('failed', 'expired', 'canceled');--> statement-breakpoint
CREATE INDEX "event_ids_seq" ON "event_ids" USING btree ("seq");--> statement-breakpoint
CREATE INDEX "replays_application" ON "replays" USING btree ("application_id");--> statement-breakpoint
CREATE INDEX "replays_running" ON "replays" USING btree ("id") WHERE "replays"."state" = 'running';--> statement-breakpoint
-- One part to write to, and one behind it.
CREATE TABLE "deliveries_0" PARTITION OF "deliveries" FOR VALUES FROM (0) TO (268435456);--> statement-breakpoint
CREATE TABLE "deliveries_1" PARTITION OF "deliveries" FOR VALUES FROM (268435456) TO (536870912);--> statement-breakpoint
CREATE TABLE "events_0" PARTITION OF "events" FOR VALUES FROM (0) TO (268435456);--> statement-breakpoint
CREATE TABLE "events_1" PARTITION OF "events" FOR VALUES FROM (268435456) TO (536870912);--> statement-breakpoint
INSERT INTO "endpoint_shards" ("shard") SELECT generate_series(0, 255);
