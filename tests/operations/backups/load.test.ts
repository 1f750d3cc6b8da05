import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { addBallast, beginBackup, downloadBackup, endOfBackup, inDatabase } from "../../support/backups.ts";
import { run, type ServerProcess, serve } from "../../support/process.ts";
import { event, subscriber } from "../../support/publishing.ts";
import { users } from "../../support/real-data.ts";
import { Receiver } from "../../support/receiver.ts";
import { adminKey, json, ndjson, temporaryDirectory } from "../../support/server.ts";
import { until } from "../../support/until.ts";

const type = "channel.followed";
const options = ["--allow-private-webhooks", "--public-url", "https://api.example.com", "--rate-limit", "0"];

let directory: ReturnType<typeof temporaryDirectory>;
let receiver: Receiver;
let server: ServerProcess;
/** Awaited by the receiver before it answers. */
let gate: PromiseWithResolvers<void>;
const path = (name: string) => join(directory.path, name);
const start = async (name: string) => {
  server = await serve(["--data", path(name), ...options]);
};

async function setUp(): Promise<void> {
  directory = temporaryDirectory();
  gate = Promise.withResolvers();
  receiver = new Receiver(async () => {
    await gate.promise;
    return new Response(null, { status: 204 });
  });
  await start("data");
}

async function tearDown(): Promise<void> {
  gate.resolve();
  await server.end("SIGKILL");
  await receiver.stop();
  directory.remove();
}

interface DeliveryPage {
  readonly data: readonly { readonly id: string; readonly status: string }[];
  readonly pagination: { readonly cursor: string; readonly has_more: boolean };
}

/** Publishes events and writes users continuously. Returns what was acknowledged so far. */
function writers() {
  const events: string[] = [];
  const userIds: number[] = [];
  const counts = { longestMs: 0, refused: 0 };
  let isStopping = false;
  const send = async (at: string, body: unknown) => {
    const startedAt = performance.now();
    const answer = await server.admin("POST", at, body);
    await answer.text();
    counts.longestMs = Math.max(counts.longestMs, performance.now() - startedAt);
    if (!answer.ok) counts.refused++;
    return answer.ok;
  };
  const publisher = async (name: number) => {
    for (let n = 0; !isStopping; n++) {
      const id = `event-${name}-${n}`;
      if (await send("/admin/v1/events", event(type, { id }))) events.push(id);
    }
  };
  const userWriter = async () => {
    for (let first = 1_000_000; !isStopping; first += 50) {
      const rows = Array.from({ length: 50 }, (_, i) => ({ id: first + i, username: `user_${first + i}` }));
      if (await send("/admin/v1/users/batch", ndjson(rows))) userIds.push(...rows.map(({ id }) => id));
    }
  };
  const all = [...Array.from({ length: 8 }, (_, name) => publisher(name)), userWriter()];
  return {
    events,
    userIds,
    counts,
    async stop() {
      isStopping = true;
      await Promise.all(all);
    },
  };
}

describe("under load", () => {
  beforeAll(async () => {
    await setUp();
    gate.resolve();
    await server.load("users", users);
    await server.end("SIGTERM");
    addBallast(path("data"), 40);
    await start("data");
    for (const broadcasters of [[1001], [1001, 1002], [1001]])
      await subscriber(server, { webhook_url: receiver.url, event: type, broadcasters });
  });
  afterAll(tearDown);

  test("a backup holds everything that was acknowledged before it began, and no partial write", async () => {
    const load = writers();
    const backups: { file: string; events: string[]; userIds: number[]; meanwhile: number }[] = [];
    for (let n = 0; n < 2; n++) {
      await until(() => load.events.length > (n + 1) * 50 && load.userIds.length > (n + 1) * 100);
      const [events, userIds] = [[...load.events], [...load.userIds]];
      const { id } = await beginBackup(server);
      const backup = await endOfBackup(server, id);
      const meanwhile = load.events.length - events.length;
      const file = path(`backup-${n}.db`);
      await downloadBackup(server, backup, file);
      backups.push({ file, events, userIds, meanwhile });
    }
    await load.stop();
    expect(load.counts.refused).toBe(0);
    for (const { file, events, userIds, meanwhile } of backups) {
      // Publishing continued while the backup was made.
      expect(meanwhile).toBeGreaterThan(5);
      inDatabase(file, (db) => {
        // The deliveries of a single event may still be stored in its row.
        const kept = db.query<{ id: string }, []>("SELECT id FROM events UNION SELECT id FROM staged_events");
        const ids = new Set(kept.all().map(({ id }) => id));
        expect(events.filter((id) => !ids.has(id))).toEqual([]);
        const known = new Set(
          db
            .query<{ id: number }, []>("SELECT id FROM users")
            .all()
            .map(({ id }) => id),
        );
        expect(userIds.filter((id) => !known.has(id))).toEqual([]);
        // All other events have a delivery for each of three subscriptions, and each batch of users is complete.
        const made =
          "SELECT count(deliveries.id) AS made FROM events LEFT JOIN deliveries ON event_seq = events.seq GROUP BY events.seq";
        expect(db.query(`SELECT DISTINCT made FROM (${made})`).all()).toEqual([{ made: 3 }]);
        expect((known.size - users.length) % 50).toBe(0);
      });
    }
  });
});

describe("a server on a restored backup", () => {
  beforeEach(setUp);
  afterEach(tearDown);

  const asked = [
    "/public/v1/users/xqcow",
    "/public/v1/users/search?query=riot&limit=5",
    "/public/v1/categories?limit=5",
    "/public/v1/events/subscriptions",
    "/public/v1/public-key",
  ];
  const answers = async (token: string) => {
    return Promise.all(asked.map(async (at) => [at, await (await server.get(at, token)).text()]));
  };

  test("answers as before, and sends pending deliveries under the same ids", async () => {
    await server.load("users", users);
    const categories = [{ id: 3, name: "Chess", slug: "chess", tags: ["Calm"] }];
    await server.load("categories", categories);
    const { id, token } = await subscriber(server, {
      webhook_url: receiver.url,
      event: type,
      broadcasters: [1001],
    });
    const eventIds = Array.from({ length: 100 }, (_, n) => `event-${n}`);
    const published = eventIds.map((id) => event(type, { id }));
    expect((await server.admin("POST", "/admin/v1/events", ndjson(published))).status).toBe(202);
    // Some are in flight without an answer, the others are queued.
    await receiver.arrived(1);
    const before = await answers(token);
    const deliveries = async () => {
      const found: { id: string; status: string }[] = [];
      for (let cursor = "", hasMore = true; hasMore; ) {
        const page = `/admin/v1/deliveries?application_id=${id}&limit=100&cursor=${cursor}`;
        const { data, pagination } = await json<DeliveryPage>(await server.admin("GET", page));
        found.push(...data);
        [cursor, hasMore] = [pagination.cursor, pagination.has_more];
      }
      return found;
    };
    const idsOf = (of: readonly { id: string }[]) => of.map((one) => one.id).sort();
    const pending = await deliveries();
    expect(pending).toHaveLength(100);
    expect(new Set(pending.map(({ status }) => status))).toEqual(new Set(["pending"]));

    const env = { ONAIR_ADMIN_KEY: adminKey };
    const made = await run(["backup", path("backup.db"), "--url", server.adminUrl], { env });
    expect([made.code, made.stderr]).toEqual([0, ""]);
    // Later events exist only on the first server.
    expect((await server.admin("POST", "/admin/v1/events", event(type, { id: "later" }))).status).toBe(202);
    await server.end("SIGKILL");
    const earlier = receiver.received.length;
    gate.resolve();
    const restored = await run(["restore", path("backup.db"), "--data", path("restored")]);
    expect([restored.code, restored.stderr]).toEqual([0, ""]);
    await start("restored");
    expect((await server.admin("DELETE", "/admin/v1/deliveries/hold")).status).toBe(204);

    expect(await answers(token)).toEqual(before);
    await receiver.arrived(earlier + 100);
    const sent = receiver.received.slice(earlier).map(({ headers }) => headers);
    expect(sent.map((headers) => headers["webhook-id"]).sort()).toEqual(idsOf(pending));
    expect(sent.map((headers) => headers["onair-event-id"]).sort()).toEqual(eventIds.sort());
    expect(idsOf(await deliveries())).toEqual(idsOf(pending));
  });
});
