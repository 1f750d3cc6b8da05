import { describe, expect, onTestFinished, setDefaultTimeout, test } from "bun:test";
import { cpSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { OnairError } from "../../../src/client/http.ts";
import { followStream } from "../../../src/client/stream.ts";
import { schemaSteps } from "../../../src/postgres/migrations.ts";
import type { Migration } from "../../../src/store/applied-migrations.ts";
import { type FaultReport, faultRun, type TestReplica } from "../../support/fault-run.ts";
import { unusedPort } from "../../support/ports.ts";
import { administer, bareDatabase, hasPostgres } from "../../support/postgres.ts";
import { program } from "../../support/process.ts";
import { type Change, hasProxy, type ProxyName, startProxy } from "../../support/proxies.ts";
import { event, subscribe } from "../../support/publishing.ts";
import { ownDirectory } from "../../support/server.ts";
import { until } from "../../support/until.ts";

const root = join(import.meta.dir, "../../..");

interface OtherBuild {
  readonly version: string;
  /** Migrations of this build alone, after those of the checkout, in both databases. */
  readonly migrations?: readonly Migration[];
}

/**
 * Makes a copy of the checkout, in a new directory below `parent`, that is another version, as one some commits later.
 * Returns the command that runs it from its source.
 */
function otherBuild(parent: string, { version, migrations = [] }: OtherBuild): readonly string[] {
  const directory = mkdtempSync(join(parent, "build-"));
  for (const name of ["src", "drizzle", "scripts", "tsconfig.json"])
    cpSync(join(root, name), join(directory, name), { recursive: true });
  for (const name of ["node_modules", "docs", "README.md", "LICENSE"])
    symlinkSync(join(root, name), join(directory, name));
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  writeFileSync(join(directory, "package.json"), JSON.stringify({ ...manifest, version }));
  for (const file of ["src/postgres/migrations.ts", "src/store/sqlite/migrations.ts"]) {
    const text = readFileSync(join(root, file), "utf8");
    const list = /(: readonly Migration\[\] = \[[^\]]*?),?\s*\];/;
    if (!list.test(text)) throw new Error(`${file} has no list of migrations`);
    const more = migrations.map((migration) => `, ${JSON.stringify(migration)}`).join("");
    writeFileSync(
      join(directory, file),
      text.replace(list, (_, begin) => `${begin}${more}];`),
    );
  }
  return [process.execPath, "--no-env-file", join(directory, "src/main.ts")];
}

/*
 * Three replicas behind a proxy are replaced by another build, one after the other, under load, and back.
 */

setDefaultTimeout(600_000);

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

const build = (migrations: readonly Migration[]) =>
  otherBuild(ownDirectory(), { version: "9.9.9", migrations });

async function database(): Promise<string> {
  const { url, drop } = await bareDatabase();
  onTestFinished(drop);
  return url;
}

/** As long as each proxy takes until it sends requests to a replica again. */
const untilUsedMs = 2_500;

/** As docs/upgrading.md says for replicas. */
const env = { ONAIR_DRAIN_DELAY: "3" };

/** Events come all the time, and the requests behind the proxy, which are to show a gap, come more often. */
const pauseMs = 2_000;

const hosts = ["127.0.0.1", "127.0.0.2", "127.0.0.3"] as const;

interface Documented {
  readonly file: string;
  /** Longer waits for replicas that hang: here they are slow, because everything shares the machine. */
  readonly patience: readonly Change[];
  /** The text of the last server in the file, which becomes two servers. */
  readonly last: string;
  /** The text before the port of the checks. */
  readonly check: string;
}

const proxies = {
  haproxy: {
    file: "haproxy-replicas.cfg",
    last: "  server two 10.0.0.2:8080\n",
    check: "check port ",
    patience: [
      ["timeout check 1s", "timeout check 20s"],
      ["timeout connect 1s", "timeout connect 20s"],
      ["timeout server 3s", "timeout server 30s"],
      // HAProxy closes the connections of a replica that is down, also those of requests that are still completed.
      ["inter 1s fall 2", "inter 1s fall 20"],
    ],
  },
  caddy: {
    file: "Caddyfile-replicas",
    last: " 10.0.0.2:8080",
    check: "health_port ",
    patience: [
      ["health_timeout 1s", "health_timeout 20s"],
      ["dial_timeout 1s", "dial_timeout 20s"],
      ["import replicas 3s 20s", "import replicas 30s 30s"],
    ],
  },
} satisfies Partial<Record<ProxyName, Documented>>;

/** Starts a proxy with its file of docs/proxies, in front of replicas with these ports on each of `hosts`. */
async function proxyOf(name: keyof typeof proxies, [port, adminPort]: readonly [number, number]) {
  const { file, last, check, patience } = proxies[name];
  const servers = hosts
    .slice(1)
    .map((host, i) => last.replace("10.0.0.2:8080", `${host}:${port}`).replace("two", `two${i}`));
  const changes: Change[] = [["10.0.0.1:8080", `${hosts[0]}:${port}`], [last, servers.join("")], ...patience];
  changes.push([`${check}8081`, check + adminPort]);
  const proxy = await startProxy(name, file, changes);
  onTestFinished(proxy.stop);
  return proxy.url;
}

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
        async (answer) => {
          const text = await answer.text();
          // Not counted: a database without processor time fails requests by itself.
          return text.includes("The database is not available now") ? null : answer.status;
        },
        (error) => String(error),
      );
      if (status !== null) answers.set(`${method} ${status}`, (answers.get(`${method} ${status}`) ?? 0) + 1);
      await Bun.sleep(25);
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

/** Reads an event stream through a URL, and continues it where it breaks off. */
async function followed(url: string, { server }: TestReplica) {
  const application = await server.application({ delivery: "stream", rate_limit: 0 });
  await subscribe(server, application, [event("channel.followed").name]);
  const ending = new AbortController();
  const sequences: number[] = [];
  const refusals: string[] = [];
  let connections = 0;
  const source = {
    fetch: (path: string, init: RequestInit) => {
      const headers = { ...init.headers, authorization: `Bearer ${application.token}` };
      return fetch(url + path, { ...init, headers });
    },
  };
  const reading = (async () => {
    for await (const { data } of followStream(source, {
      signal: ending.signal,
      connected: () => connections++,
      interrupted: (reason) => reason instanceof OnairError && refusals.push(reason.message),
    }))
      sequences.push(Number(JSON.parse(data).headers["onair-sequence"]));
  })();
  await until(() => connections > 0);
  return {
    /** Waits for one more event, and gives what was read. */
    async stop() {
      const { length } = sequences;
      await until(() => sequences.length > length);
      ending.abort();
      await reading;
      return { sequences, refusals, connections };
    },
  };
}

function expectPromises({ problems, acknowledged }: FaultReport): void {
  expect(problems).toEqual([]);
  expect(acknowledged).toBeGreaterThan(100);
}

describe.skipIf(!hasPostgres)("three replicas under load", () => {
  test.each<[keyof typeof proxies, string, readonly Migration[], boolean]>([
    ["haproxy", "an additive migration, and back", [added], true],
    ["caddy", "the same migrations", [], false],
  ])(
    "behind %s are replaced by a build with %s: no request fails",
    async (proxy, _, migrations, isAlsoBack) => {
      if (!hasProxy(proxy)) return;
      const next = build(migrations);
      const ports = [await unusedPort(), await unusedPort()] as const;
      const url = await database();
      const report = await faultRun({
        database: url,
        pauseMs,
        replicas: hosts.map((host) => ({
          ports,
          command: program,
          env: { ...env, ONAIR_HOST: host, ONAIR_ADMIN_HOST: host },
        })),
        async faults(replicas, { allServed }) {
          const [first] = replicas as readonly [TestReplica, ...TestReplica[]];
          const proxyUrl = await proxyOf(proxy, ports);
          const { token } = await first.server.application({
            webhook_url: "http://127.0.0.1:9/",
            rate_limit: 0,
          });
          const load = requests(proxyUrl, token);
          const stream = await followed(proxyUrl, first);
          const former = await versionOf(first);
          await replaceEach(replicas, next);
          await allServed();
          expect(await Promise.all(replicas.map(versionOf))).toEqual(["9.9.9", "9.9.9", "9.9.9"]);
          if (isAlsoBack) {
            await replaceEach(replicas, program);
            await allServed();
            expect(await versionOf(first)).toBe(former);
          }
          const { sequences, refusals, connections } = await stream.stop();
          const answers = await load.stop();
          expect([...answers.keys()].sort()).toEqual(["GET 200", "POST 200"]);
          expect(refusals).toEqual([]);
          expect(connections).toBeGreaterThan(1);
          expect(sequences).toEqual(sequences.map((_, i) => (sequences[0] ?? 0) + i));
        },
      });
      expectPromises(report);
      const applied = await administer<{ name: string }>(
        url,
        "SELECT name FROM onair_migrations ORDER BY number",
      );
      expect(applied.map(({ name }) => name)).toEqual(
        [...schemaSteps, ...migrations].map(({ name }) => name),
      );
    },
  );

  test("refuse a build with another migration, and go on; all stopped, it starts, and the former is refused", async () => {
    const next = build([stricter]);
    const log = join(ownDirectory(), "log");
    const said = () => readFileSync(log, "utf8");
    const report = await faultRun({
      database: await database(),
      pauseMs,
      replicas: [{ log, command: program }, { command: program }],
      async faults(replicas, { allServed }) {
        const [first, second] = replicas as readonly [TestReplica, TestReplica];
        expect(await first.end("SIGTERM")).toBe(0);
        await expect(first.start(next)).rejects.toThrow("it ended with 1");
        expect(said()).toContain("stop all of them, and start this one again");
        await allServed();
        expect(await second.end("SIGTERM")).toBe(0);
        await first.start(next);
        await allServed();
        await expect(second.start(program)).rejects.toThrow("it ended with 2");
        await second.start(next);
        await allServed();
      },
    });
    expectPromises(report);
  });
});
