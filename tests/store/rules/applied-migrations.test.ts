import { describe, expect, test } from "bun:test";
import { checkedCount, hashOf, type Migration, statementsOf } from "../../../src/store/applied-migrations.ts";

const start: Migration = { name: "0000_start", sql: "CREATE TABLE users (id integer);" };
const added: Migration = { name: "0001_colours.additive", sql: "CREATE TABLE colours (id integer);" };
const other: Migration = { name: "0002_other", sql: "DROP TABLE users;" };

describe("an additive migration", () => {
  test.each([
    "CREATE TABLE colours (id integer NOT NULL UNIQUE);",
    "CREATE INDEX users_colour ON users (colour);",
    "ALTER TABLE `users` ADD `colour` text;",
    "ALTER TABLE users ADD COLUMN colour text DEFAULT 'red' NOT NULL;",
    "ALTER TABLE users ADD COLUMN colour text NOT NULL DEFAULT 'red';",
  ])("has %s", (sql) => {
    expect(statementsOf({ name: added.name, sql })).toEqual([sql]);
  });

  test.each([
    "DROP TABLE users;",
    "CREATE UNIQUE INDEX users_colour ON users (colour);",
    "ALTER TABLE users ADD COLUMN colour text NOT NULL;",
    "ALTER TABLE users ADD COLUMN colour text REFERENCES colours (id);",
    "ALTER TABLE users ADD COLUMN colour text UNIQUE;",
    "ALTER TABLE users ADD CONSTRAINT named CHECK (name <> '');",
    "ALTER TABLE users DROP COLUMN name;",
    "ALTER TABLE users RENAME COLUMN name TO called;",
    "CREATE TABLE colours (id integer REFERENCES users (id));",
    "CREATE TRIGGER made AFTER INSERT ON users BEGIN SELECT 1; END;",
    "UPDATE users SET name = '';",
    "CREATE INDEX users_colour ON users (colour); DROP TABLE tokens;",
  ])("cannot have %s", (sql) => {
    const two = { name: added.name, sql: `${added.sql}\n--> statement-breakpoint\n${sql}` };
    expect(() => statementsOf(two)).toThrow(`0001_colours.additive is not additive: ${sql}`);
    expect(statementsOf({ ...two, name: other.name })).toHaveLength(2);
  });
});

describe("a database", () => {
  const refusal = { what: "The data", wayBack: "", isMisuse: false };
  const applied = (...migrations: Migration[]) =>
    migrations.map((one) => ({ name: one.name, hash: hashOf(one) }));

  test.each([
    ["with additive migrations of a newer build is used", [start], [start, added], 1],
    ["that lacks a migration is known by how many it has", [start, added], [start], 1],
    ["with all of them is up to date", [start, added], [start, added], 2],
  ] as const)("%s", (_, list, has, count) => {
    expect(checkedCount(list, applied(...has), refusal)).toBe(count);
  });

  test.each([
    [
      "another migration of a newer build",
      [start],
      [start, added, other],
      "its migration 0002_other is unknown",
    ],
    [
      "one that is additive where this build has another",
      [start, other],
      [start, added],
      "with another schema",
    ],
    ["one with another text", [{ ...start, sql: "" }], [start], "with another schema"],
  ] as const)("with %s is refused", (_, list, has, message) => {
    expect(() => checkedCount(list, applied(...has), refusal)).toThrow(message);
  });
});
