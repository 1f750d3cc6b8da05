import { describe, expect, test } from "bun:test";
import { expectFailure, run } from "../support/process.ts";

const quiet = ["--port", "0", "--admin-port", "0"];

describe("errors about the database option", () => {
  test.each([
    [["--database", "mysql://db/onair"], {}, "--database must be a URL like postgres://"],
    [["--database", "postgres://db"], {}, "--database must end with the name of the database"],
    [["--database", "postgres://a:hunter2@db/onair"], {}, "--database must be without a password"],
    [["--database", "postgres://db/onair", "--data", "x"], {}, "--data and --database contradict each other"],
    [
      ["--data", "x"],
      { ONAIR_DATABASE: "postgres://db/onair" },
      "--data and ONAIR_DATABASE contradict each other",
    ],
    [
      [],
      { ONAIR_DATA: "x", ONAIR_DATABASE: "postgres://db/onair" },
      "ONAIR_DATA and ONAIR_DATABASE contradict each other: give the data directory or the database, not both (an empty ONAIR_DATA is none)",
    ],
    // An empty ONAIR_DATA is none, so that the next mistake is the only one.
    [
      ["--backup-every", "24h"],
      { ONAIR_DATA: "", ONAIR_DATABASE: "postgres://db/onair" },
      "--backup-every is for a data directory",
    ],
    [["--database-direct", "postgres://db/onair"], {}, "--database-direct needs --database"],
    [
      [],
      { ONAIR_DATABASE: "postgres://a:hunter2@db/onair?x=y" },
      "ONAIR_DATABASE must have no other parameters",
    ],
    [[], { ONAIR_DATABASE_FILE: "/nowhere" }, "ONAIR_DATABASE cannot be read"],
  ])("%p %p is refused in one sentence", async (args, env, message) => {
    const { code, stderr, stdout } = await run(["serve", ...quiet, ...args], { env });
    expect(stderr).toContain(message);
    expect(code).toBe(2);
    expect(stderr + stdout).not.toContain("hunter2");
  });
});

test.each([
  "apps list",
  "deliveries list",
  "tokens list 01KATHZX5M9S3E6R8B2D4F7G1H",
  "export users",
  "audit",
  "admin-key list",
])("onair %s takes --database", async (command) => {
  expectFailure(
    await run([...command.split(" "), "--database", "postgres://onair@127.0.0.1:1/onair"]),
    1,
    "cannot be reached",
  );
});
