import { afterAll, describe, expect, onTestFinished, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { schemaSteps } from "../../../src/postgres/migrations.ts";
import type { Migration } from "../../../src/store/applied-migrations.ts";
import { type FaultReport, faultRun, type TestReplica } from "../../support/fault-run.ts";
import { otherBuild } from "../../support/other-build.ts";
import { unusedPort } from "../../support/ports.ts";
import { administer, bareDatabase, hasPostgres } from "../../support/postgres.ts";
import { fromSource } from "../../support/process.ts";
import { hasProxy, startProxy } from "../../support/proxies.ts";
import { temporaryDirectory } from "../../support/server.ts";

/*
 * Three replicas behind HAProxy are replaced by another build, one after the other, under load, and back.
 */

setDefaultTimeout(300_000);

const directory = temporaryDirectory();
afterAll(directory.remove);

const added: Migration = {
  name: "9000_colours.additive",
  sql: `ALTER TABLE deliveries ADD COLUMN colour text;
--> statement-breakpoint
ALTER TABLE applications ADD COLUMN colour text DEFAULT 'blue' NOT NULL;
--> statement-breakpoint
CREATE TABLE colours (name text PRIMARY KEY);
--> statement-breakpoint
CREATE INDEX deliveries_colour ON deliveries (colour);`,
};
const stricter: Migration = {
  name: "9000_stricter",
  sql: "ALTER TABLE settings ADD CONSTRAINT has_key CHECK (key <> '');",
};

const build = (name: string, migrations: readonly Migration[]) =>
  otherBuild(join(directory.path, name), { version: "9.9.9", migrations });

async function database(): Promise<string> {
  const { url, drop } = await bareDatabase();
  onTestFinished(drop);
  return url;
}

/** As long as HAProxy takes until it sends requests to a replica again. */
const untilUsedMs = 2_500;

/** Replaces the replicas one after the other, as `docs/upgrading.md` says. */
async function replaceEach(replicas: readonly TestReplica[], command: readonly string[]): Promise<void> {
  for (const replica of replicas) {
    expect(await replica.end("SIGTERM")).toBe(0);
    await replica.start(command);
    await Bun.sleep(untilUsedMs);
  }
}

async function versionOf({ server }: TestReplica): Promise<string> {
  const text = await (await fetch(`${server.adminUrl}/metrics`)).text();
  return /onair_build_info\{.*?version="([^"]+)"/.exec(text)?.[1] ?? "";
}

/** Sends requests to a URL all the time. `stop` gives the answers by method and status. */
function requests(url: string, token: string) {
  const answers = new Map<string, number>();
  let isEnded = false;
  const authorization = `Bearer ${token}`;
  const send = async (method: string, path: string, body?: object) => {
    while (!isEnded) {
      const headers = { authorization, ...(body && { "content-type": "application/json" }) };
      const status = await fetch(url + path, {
        method,
        headers,
        ...(body && { body: JSON.stringify(body) }),
      }).then(
        (answer) => answer.arrayBuffer().then(() => answer.status),
        (error) => String(error),
      );
      answers.set(`${method} ${status}`, (answers.get(`${method} ${status}`) ?? 0) + 1);
      await Bun.sleep(20);
    }
  };
  // Of a type that is not published.
  const subscription = { events: [{ name: "kicks.gifted", version: 1 }], broadcaster_user_id: 1001 };
  const all = [
    send("GET", "/public/v1/users?id=1001"),
    send("GET", "/public/v1/categories"),
    send("POST", "/public/v1/events/subscriptions", subscription),
  ];
  return {
    async stop() {
      isEnded = true;
      await Promise.all(all);
      return answers;
    },
  };
}

function expectPromises({ problems, acknowledged }: FaultReport): void {
  expect(problems).toEqual([]);
  expect(acknowledged).toBeGreaterThan(100);
}

describe.skipIf(!hasPostgres || !hasProxy("haproxy"))("three replicas under load", () => {
  test.each<[string, readonly Migration[]]>([
    ["the same migrations", []],
    ["an additive migration", [added]],
  ])("are replaced by a build with %s, and back: no request fails", async (name, migrations) => {
    const next = build(name.replaceAll(" ", "-"), migrations);
    const ports: [number, number][] = [];
    for (let i = 0; i < 3; i++) ports.push([await unusedPort(), await unusedPort()]);
    const lines = ports.map(([port, admin], i) => `  server s${i} 127.0.0.1:${port} check port ${admin}\n`);
    const url = await database();
    const report = await faultRun({
      database: url,
      replicas: ports.map((ports) => ({ ports, command: fromSource })),
      async faults(replicas, { allServed }) {
        const [first] = replicas as readonly [TestReplica, ...TestReplica[]];
        const proxy = await startProxy("haproxy", "haproxy-replicas.cfg", [
          ["  server one 10.0.0.1:8080\n", lines.join("")],
          ["  server two 10.0.0.2:8080\n", ""],
        ]);
        onTestFinished(proxy.stop);
        const { token } = await first.server.application({
          webhook_url: "http://127.0.0.1:9/",
          rate_limit: 0,
        });
        const load = requests(proxy.url, token);
        const former = await versionOf(first);
        await replaceEach(replicas, next);
        await allServed();
        expect(await Promise.all(replicas.map(versionOf))).toEqual(["9.9.9", "9.9.9", "9.9.9"]);
        await replaceEach(replicas, fromSource);
        await allServed();
        expect(await versionOf(first)).toBe(former);
        const answers = await load.stop();
        expect([...answers.keys()].sort()).toEqual(["GET 200", "POST 200"]);
      },
    });
    expectPromises(report);
    const applied = await administer<{ name: string }>(
      url,
      "SELECT name FROM onair_migrations ORDER BY number",
    );
    expect(applied.map(({ name }) => name)).toEqual([...schemaSteps, ...migrations].map(({ name }) => name));
  });

  test("refuse a build with another migration, and go on; all stopped, it starts, and the former is refused", async () => {
    const next = build("another-migration", [stricter]);
    const log = join(directory.path, "log");
    const said = () => readFileSync(log, "utf8");
    const report = await faultRun({
      database: await database(),
      replicas: [{ log, command: fromSource }, { command: fromSource }],
      async faults(replicas, { allServed }) {
        const [first, second] = replicas as readonly [TestReplica, TestReplica];
        expect(await first.end("SIGTERM")).toBe(0);
        await expect(first.start(next)).rejects.toThrow("it ended with 1");
        expect(said()).toContain("stop all of them, and start this one again");
        await allServed();
        expect(await second.end("SIGTERM")).toBe(0);
        await first.start(next);
        await allServed();
        await expect(second.start(fromSource)).rejects.toThrow("it ended with 2");
        await second.start(next);
        await allServed();
      },
    });
    expectPromises(report);
  });
});
