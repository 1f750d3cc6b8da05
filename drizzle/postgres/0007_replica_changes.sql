CREATE TABLE "category_orders" (
	"taken_at" double precision PRIMARY KEY NOT NULL,
	"content" "bytea" NOT NULL,
	"used_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE INDEX "category_orders_use" ON "category_orders" USING btree ("used_at");
--> statement-breakpoint
-- What a statement changes is told to all replicas with its commit. Their rows: in parts, as a notification has 8,000 bytes.
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
CREATE TRIGGER tokens_update_told AFTER UPDATE ON "tokens" REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION onair_tell_if_any('callers');
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
