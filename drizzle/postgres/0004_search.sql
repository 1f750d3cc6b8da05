CREATE TABLE "user_search" (
	"user_id" bigint PRIMARY KEY NOT NULL,
	"terms" integer[] NOT NULL
);
--> statement-breakpoint
-- So many terms that the ones which are not among the most common are rare.
ALTER TABLE "user_search" ALTER COLUMN "terms" SET STATISTICS 1000;--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "folded" text COLLATE "C" NOT NULL;--> statement-breakpoint
ALTER TABLE "user_search" ADD CONSTRAINT "user_search_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
-- What is not in the index itself yet, and which every search looks through, stays short.
CREATE INDEX "user_search_terms" ON "user_search" USING gin ("terms") WITH (gin_pending_list_limit = 256);--> statement-breakpoint
-- A walk along it reads nothing else: that is what `folded` is there for.
CREATE INDEX "users_popularity" ON "users" USING btree ("followers_count" DESC,"id") INCLUDE ("folded");
