import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expectFailure, run } from "../support/process.ts";
import { startServer, testDirectory } from "../support/server.ts";

/*
 * Commands find the data by the server's configuration file.
 */

const directory = testDirectory();
const data = join(directory, "data");
const kept = join(directory, "kept");
const file = join(directory, "onair.toml");
writeFileSync(file, `data = "${data}"\nbackup-to = "${kept}"\nadmin-port = 9\n`);
await (await startServer({ data, isOnSqlite: true })).stop();

test.each([
  ["apps list", "There are no applications."],
  ["migrate --dry-run", `${data} has the schema of`],
  ["backup", "done"],
  ["deliveries list", "There are no deliveries"],
  ["admin-key reset", "onair_admin_"],
])("onair %s --config FILE works on its data", async (words, shown) => {
  // The file given by an option wins over this variable.
  const env = { ONAIR_URL: "http://127.0.0.1:9" };
  const { code, stdout, stderr } = await run([...words.split(" "), "--config", file], { env });
  expect([code, stdout + stderr]).toEqual([0, expect.stringContaining(shown)]);
});

test("backups go to the destination that the file names", async () => {
  const { stdout } = await run(["backup", "list", "--config", file, "--json"]);
  expect(stdout).toContain('"status":"done"');
  const elsewhere = await run(["backup", "list", "--data", data, "--json"]);
  expect(elsewhere.stdout).not.toContain('"status":"done"');
});

test("--config cannot be combined with --url, and mistakes in the file are reported", async () => {
  const url = ["--url", "http://127.0.0.1:9"];
  expectFailure(
    await run(["apps", "list", "--config", file, ...url], {
      env: { ONAIR_ADMIN_KEY: "x" },
    }),
    2,
    "--url and --config exclude each other",
  );
  const mistaken = join(directory, "mistaken.toml");
  writeFileSync(mistaken, "\ndta = 1\n");
  expectFailure(await run(["apps", "list", "--config", mistaken]), 2, ":2 dta is not a setting");
});
