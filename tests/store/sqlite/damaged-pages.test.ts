import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { madeBackup } from "../../support/backups.ts";
import {
  damagedId,
  damagedUser,
  fileIn,
  freePorts,
  isDamaged,
  noisyRoot,
  onair,
  pageBytes,
  testSample,
  toRestore,
  wholeUser,
} from "../../support/damaged-data.ts";
import { serve } from "../../support/process.ts";
import { adminKey } from "../../support/server.ts";
import { until } from "../../support/until.ts";

const sample = testSample();

/** A line of the log. */
interface Line {
  readonly event: string;
  readonly error: string;
  readonly repeated?: number;
}

/** Damages each page that holds some text; the file has it more than once where it is in an index. */
function damagePagesWith(data: string, text: string): void {
  const database = readFileSync(fileIn(data));
  let damagedPages = 0;
  for (let at = 0; at < database.length; at += pageBytes) {
    const page = database.subarray(at, at + pageBytes);
    if (!page.includes(text)) continue;
    page.fill(0xff);
    damagedPages++;
  }
  if (damagedPages === 0) throw new Error(`${text} is nowhere`);
  writeFileSync(fileIn(data), database);
}

describe("damage that is found by a read", () => {
  test.each<[string, (data: string) => void, readonly string[]]>([
    ["of users", (data) => damagePagesWith(data, damagedUser), ["export", "users"]],
    ["of applications", noisyRoot("applications"), ["apps", "list"]],
    ["of categories", noisyRoot("categories"), ["serve", ...freePorts]],
    ["of the settings", noisyRoot("settings"), ["serve", ...freePorts]],
  ])("%s ends the command that needs it with one line", async (_, damage, command) => {
    const data = sample.copy(damage);
    const { code, stderr } = await onair(command, data);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^onair: [^\n]+\n$/);
    expect(stderr).toContain(isDamaged("SQLITE_CORRUPT"));
    expect(stderr).toContain(toRestore + data);
  });

  test("by a backup is reported with advice", async () => {
    const data = sample.copy((of) => damagePagesWith(of, damagedUser));
    const { code, stdout, stderr } = await onair(["backup"], data);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(
      /^onair: The backup failed\. The database is damaged[^\n]+onair restore FILE --data DIR\n$/,
    );
  });

  test("fails the requests that need it, is logged without secrets, and other requests work", async () => {
    const data = sample.copy((of) => damagePagesWith(of, damagedUser));
    const log = join(sample.directory, "log");
    const server = await serve(["--data", data], { log });
    const user = (name: string) => server.get(`/public/v1/users/${name}`, sample.token);
    for (let n = 0; n < 3; n++) {
      for (const failed of [
        await user(damagedUser),
        await server.admin("PUT", `/admin/v1/users/${damagedId}`, { username: damagedUser }),
      ]) {
        const body = await failed.text();
        expect([failed.status, JSON.parse(body)]).toMatchObject([
          500,
          { code: "internal_error", errors: [] },
        ]);
        expect(body).not.toMatch(/damaged|onair\.db|SQLITE|malformed/);
      }
      expect((await user(wholeUser)).status).toBe(200);
      expect((await server.admin("PUT", "/admin/v1/users/11", { username: wholeUser })).status).toBeLessThan(
        300,
      );
      expect((await fetch(`${server.adminUrl}/healthz`)).status).toBe(200);
      // The answer has begun, and can only be cut off.
      await expect(
        server.admin("GET", "/admin/v1/users/batch").then((answer) => answer.text()),
      ).rejects.toThrow();
    }
    const metrics = await (await server.admin("GET", "/metrics")).text();
    const counted = Number(/^onair_log_errors_total\{event="internal_error"\} (\d+)$/m.exec(metrics)?.[1]);
    expect(counted).toBeGreaterThanOrEqual(6);
    await expect(madeBackup(server)).rejects.toThrow("The database is damaged");
    await until(() => readFileSync(log, "utf8").includes("backup.failed"));
    expect(await server.end("SIGTERM")).toBe(0);
    const lines = readFileSync(log, "utf8").trim().split("\n");
    const told = lines.map((line) => JSON.parse(line) as Line);
    const failures = told.filter(({ event }) => event === "internal_error");
    // Failures of the same kind share a line, which has their number.
    expect(failures.reduce((sum, { repeated = 1 }) => sum + repeated, 0)).toBe(counted);
    for (const { error } of failures) expect(error).toContain(isDamaged("SQLITE_CORRUPT"));
    for (const secret of await secretsIn(sample.path)) expect(lines.join("\n")).not.toContain(secret);
  });

  test("in the data of the engine is logged, and other work goes on", async () => {
    const data = sample.copy(noisyRoot("deliveries"));
    const log = join(sample.directory, "engine.log");
    const server = await serve(["--data", data], { log });
    await until(() => readFileSync(log, "utf8").includes("service_failed"));
    expect((await server.get(`/public/v1/users/${damagedUser}`, sample.token)).status).toBe(200);
    expect((await server.admin("PUT", "/admin/v1/users/11", { username: wholeUser })).status).toBeLessThan(
      300,
    );
    expect((await server.admin("GET", "/admin/v1/deliveries")).status).toBe(500);
    expect(await server.end("SIGTERM")).toBe(0);
    expect(readFileSync(log, "utf8")).toContain(isDamaged("SQLITE_CORRUPT"));
    for (const secret of await secretsIn(sample.path))
      expect(readFileSync(log, "utf8")).not.toContain(secret);
  });
});

/** Everything that a log must never hold. */
async function secretsIn(data: string): Promise<string[]> {
  const db = new Database(fileIn(data), { readonly: true });
  const kept = [
    ...db
      .query<{ value: string }, []>("SELECT value FROM settings WHERE key IN ('signing_key', 'sealing_key')")
      .all(),
    ...db.query<{ value: string }, []>("SELECT webhook_secret AS value FROM applications").all(),
  ];
  db.close();
  expect(kept.length).toBe(3);
  // A key in PEM would be quoted.
  return [adminKey, sample.token, ...kept.map(({ value }) => value.split("\n")[1] ?? value)];
}
