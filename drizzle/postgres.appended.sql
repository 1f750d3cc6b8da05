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
