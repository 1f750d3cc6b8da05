import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { adminKey as adminKeyCommand } from "../../src/cli/admin-key.ts";
import { apps } from "../../src/cli/apps.ts";
import { backup } from "../../src/cli/backups/backup.ts";
import type { Command } from "../../src/cli/command.ts";
import { deliveries } from "../../src/cli/deliveries/deliveries.ts";
import { migrate } from "../../src/cli/migrate.ts";
import { compact } from "../../src/cli/operations/compact.ts";
import { inProcess } from "../support/command.ts";
import { startServer, testDirectory } from "../support/server.ts";

/*
 * Commands find the data by the file of settings that the server has, too.
 */

const directory = testDirectory();
const data = join(directory, "data");
const kept = join(directory, "kept");
const file = join(directory, "onair.toml");
writeFileSync(file, `data = "${data}"\nbackup-to = "${kept}"\nadmin-port = 9\n`);
await (await startServer({ data, isOnSqlite: true })).stop();

test.each<[string, Command, string[], string]>([
  ["apps list", apps, ["list"], "There are no applications."],
  ["migrate --dry-run", migrate, ["--dry-run"], `${data} has the form of`],
  ["backup", backup, [], "done"],
  ["compact", compact, [], `The database of ${data} has`],
  ["deliveries list", deliveries, ["list"], "There are no deliveries"],
  ["admin-key reset", adminKeyCommand, ["reset"], "onair_admin_"],
])("onair %s --config FILE works on its data", async (_, command, words, shown) => {
  // What is named by an option wins over this variable.
  const env = { ONAIR_URL: "http://127.0.0.1:9" };
  const { code, stdout, stderr } = await inProcess(command, [...words, "--config", file], env);
  expect([code, stdout + stderr]).toEqual([0, expect.stringContaining(shown)]);
});

test("backups go to the place that it names", async () => {
  const { stdout } = await inProcess(backup, ["list", "--config", file, "--json"]);
  expect(stdout).toContain('"status":"done"');
  const elsewhere = await inProcess(backup, ["list", "--data", data, "--json"]);
  expect(elsewhere.stdout).not.toContain('"status":"done"');
});

test("it does not go with --url, and its mistakes are told", async () => {
  const url = ["--url", "http://127.0.0.1:9"];
  const both = await inProcess(apps, ["list", "--config", file, ...url], { ONAIR_ADMIN_KEY: "x" });
  expect([both.code, both.stderr]).toEqual([
    2,
    expect.stringContaining("--url and --config exclude each other"),
  ]);
  const mistaken = join(directory, "mistaken.toml");
  writeFileSync(mistaken, "\ndta = 1\n");
  const wrong = await inProcess(apps, ["list", "--config", mistaken]);
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining(":2 dta is no setting")]);
});
