CREATE TABLE "replicas" (
	"id" bigint PRIMARY KEY NOT NULL,
	"alive_until" bigint NOT NULL
);
--> statement-breakpoint
ALTER TABLE "endpoint_shards" ALTER COLUMN "owner" SET DATA TYPE bigint USING NULL;--> statement-breakpoint
ALTER TABLE "subscriptions" ADD COLUMN "published_by" bigint;