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
CREATE INDEX "statistics_period" ON "statistics" USING btree ("period","at");