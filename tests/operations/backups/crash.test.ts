import { beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { newKeyFile } from "../../../src/operations/backups/encryption.ts";
import { afterTests } from "../../support/after-tests.ts";
import {
  addBallast,
  backupFiles,
  backupsPath,
  beginBackup,
  inDatabase,
  madeBackup,
  type ShownBackup,
  sha256,
} from "../../support/backups.ts";
import { ownProcess, type ServerProcess, serve } from "../../support/process.ts";
import { giveTables, json, ownDirectory, testDirectory } from "../../support/server.ts";
import { until } from "../../support/until.ts";

const directory = testDirectory();
let server: ServerProcess;
const start = async (...args: string[]) => {
  server = await serve(["--data", directory, ...args]);
};

beforeAll(() => {
  giveTables(directory);
  addBallast(directory, 60);
});
afterTests(() => server.end("SIGKILL"));

const partials = () => backupFiles(directory).filter((name) => name.includes(".partial"));

test.each(["SIGKILL", "SIGTERM"] as const)(
  "%s in the middle of a backup leaves what was whole, and the next start removes the rest",
  async (signal) => {
    await start();
    const whole = await madeBackup(server);
    const { id } = await beginBackup(server);
    await until(() => partials().includes(`${id}.partial`));
    expect(await server.end(signal)).toBe(signal === "SIGTERM" ? 0 : null);
    if (signal === "SIGKILL") expect(partials()).not.toEqual([]);
    await start();
    expect(partials()).toEqual([]);
    const { data } = await json<{ data: ShownBackup[] }>(await server.admin("GET", backupsPath));
    expect(data[0]).toEqual(whole);
    expect(data.map((backup) => backup.id)).not.toContain(id);
    for (const name of backupFiles(directory)) {
      const file = join(directory, "backups", name);
      expect(name).toContain(sha256(readFileSync(file)));
      expect(inDatabase(file, (db) => db.query("SELECT count(*) AS n FROM migrations").get())).toMatchObject({
        n: expect.any(Number),
      });
    }
    await server.end("SIGTERM");
  },
);

test("data that is to be encrypted is in plain text only for its owner, beside the database, while the backup is made", async () => {
  const destination = ownDirectory();
  const key = /age1[a-z0-9]+/.exec(await newKeyFile())?.[0] ?? "";
  const data = ownDirectory();
  giveTables(data);
  addBallast(data, 30);
  const args = ["--data", data, "--backup-to", destination, "--backup-recipients", key];
  const server = await ownProcess(args);
  const { id } = await beginBackup(server);
  const seen = new Set<string>();
  let mode = 0;
  for (let status = "running"; status === "running"; ) {
    for (const name of readdirSync(destination)) seen.add(name);
    const plain = statSync(join(data, "backups", `${id}.partial`), { throwIfNoEntry: false });
    if (plain) mode = plain.mode & 0o777;
    ({ status } = await json<ShownBackup>(await server.admin("GET", `${backupsPath}/${id}`)));
  }
  expect(mode).toBe(0o600);
  expect([...seen].filter((name) => !/\.age$|^onair-data-id(\.[0-9A-Z]+)?$/.test(name))).toEqual([]);
  expect(readdirSync(destination).filter((name) => name.startsWith(id))).toEqual([
    expect.stringMatching(/\.db\.age$/),
  ]);
  expect(backupFiles(data)).toEqual([]);
});
