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
	"fields" text[] NOT NULL,
	"address" text NOT NULL,
	"request_id" text NOT NULL,
	CONSTRAINT "audit_merge_key_unique" UNIQUE("merge_key")
);
--> statement-breakpoint
CREATE INDEX "audit_at" ON "audit" USING btree ("at");--> statement-breakpoint
CREATE INDEX "audit_actor" ON "audit" USING btree ("actor_id","seq");--> statement-breakpoint
CREATE INDEX "audit_action" ON "audit" USING btree ("action","seq");--> statement-breakpoint
CREATE INDEX "audit_object" ON "audit" USING btree ("object","object_id","seq");