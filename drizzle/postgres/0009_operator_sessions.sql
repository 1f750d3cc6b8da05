CREATE TABLE "operator_sessions" (
	"hash" "bytea" PRIMARY KEY NOT NULL,
	"expires_at" bigint NOT NULL
);
