-- Roughly how popular a user is, and never less than of one with fewer followers. Roughly, so that it seldom changes.
CREATE FUNCTION onair_popularity(followers bigint) RETURNS smallint LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN trunc(2 * ln(followers::float8 + 1))::smallint;
--> statement-breakpoint
-- What is left free on a page takes a row whose popularity changes, and then the index need not be changed.
ALTER TABLE "user_search" SET (fillfactor = 90);
--> statement-breakpoint
ALTER TABLE "user_search" ADD COLUMN "popularity" smallint;
--> statement-breakpoint
DROP INDEX "user_search_terms";
--> statement-breakpoint
UPDATE "user_search" SET "popularity" = onair_popularity("users"."followers_count") FROM "users" WHERE "users"."id" = "user_id";
--> statement-breakpoint
ALTER TABLE "user_search" ALTER COLUMN "popularity" SET NOT NULL;
--> statement-breakpoint
CREATE INDEX "user_search_terms" ON "user_search" USING gin ("terms") WITH (gin_pending_list_limit = 256);
