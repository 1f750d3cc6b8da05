import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { SQL } from "bun";
import { openPool } from "../../../src/postgres/pool.ts";
import { endSilentPublishers, publishingLock } from "../../../src/postgres/positions.ts";
import { readDatabaseUrl } from "../../../src/store/location.ts";
import { afterThisTest } from "../../support/after-tests.ts";
import { openStream, resumeStream } from "../../support/event-stream.ts";
import { administer, emptyDatabase, hasPostgres } from "../../support/postgres.ts";
import { type PostgresServer, startPostgres } from "../../support/postgres-server.ts";
import { type ServerProcess, serve } from "../../support/process.ts";
import { event, publish, subscribe } from "../../support/publishing.ts";
import { ndjson } from "../../support/server.ts";
import { tcpProxy } from "../../support/tcp-proxy.ts";
import { until } from "../../support/until.ts";

setDefaultTimeout(180_000);

/*
 * A replica that is stopped in the middle of a publishing transaction holds back the event streams of all others, for a
 * bounded time.
 */

const followed = "channel.followed";
/** The client of a silent transaction is waited for so long, and looked for once a second. */
const mostMs = 6_000;

describe.skipIf(!hasPostgres)("a publisher that stops", () => {
  let postgres: PostgresServer;
  let url: string;
  let sql: SQL;
  let server: ServerProcess;
  let stopped: ServerProcess;
  beforeAll(async () => {
    postgres = await startPostgres();
    await administer(postgres.url("postgres"), "CREATE DATABASE one");
    url = postgres.url("one");
    sql = new SQL(url, { max: 4 });
    const env = { ONAIR_DATABASE: url, ONAIR_LOG_LEVEL: "off" };
    server = await serve([], { env });
    stopped = await serve([], { env });
    await server.load(
      "users",
      [1, 2].map((id) => ({ id, username: `user_${id}` })),
    );
  });
  afterAll(async () => {
    await sql?.close({ timeout: 0 });
    await Promise.all([server, stopped].map((one) => one?.end("SIGKILL")));
    await postgres?.stop();
  });

  const publishTo = async (broadcaster: number, id: string) =>
    expect((await publish(server, event(followed, { id, broadcaster_user_id: broadcaster }))).status).toBe(
      202,
    );
  const idsOf = ({ events }: { events: readonly { data: { headers: Record<string, string> } }[] }) =>
    events.map(({ data }) => data.headers["onair-event-id"]);

  /** Waits until a connection waits so. */
  const waiting = (how: string, on = sql) =>
    until(async () => {
      const found = await on.unsafe(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND ${how}`,
      );
      return found.length > 0;
    });

  async function streamed() {
    const app = await server.application({ delivery: "stream" });
    for (const broadcaster of [1, 2]) await subscribe(server, app, [followed], broadcaster);
    return app;
  }

  test("its transaction ends within seconds, and streams, also resumed ones, have all events in order", async () => {
    const app = await streamed();
    const own = crypto.randomUUID(); // a second attempt publishes other events
    const stream = await openStream(server, app.token, [followed]);
    await publishTo(1, `first-${own}`);
    const [{ id: lastId = "" } = {}] = await stream.arrived(1);
    const batch = ndjson(
      [1, 2].map((n) => event(followed, { id: `batch-${n}-${own}`, broadcaster_user_id: 1 })),
    );
    const blocker = await sql.reserve();
    await blocker.unsafe("BEGIN");
    await blocker.unsafe(
      `INSERT INTO event_ids (id, seq, name, version, broadcaster_user_id, published_at, fingerprint, deliveries)
      VALUES ('batch-2-${own}', -1, '', 1, 1, 0, '', 0)`,
    );
    const refused = stopped.admin("POST", "/admin/v1/events?atomic=true", batch);
    await waiting("wait_event = 'transactionid'"); // for the blocker, and for no other lock
    stopped.kill("SIGSTOP");
    afterThisTest(() => stopped.kill("SIGCONT"));
    await blocker.unsafe("ROLLBACK");
    blocker.release();
    const stoppedAt = performance.now();
    await publishTo(2, `other-${own}`);
    const resumed = resumeStream(server, app.token, [followed], lastId);
    await stream.arrived(2);
    await resumed.arrived(1);
    expect(performance.now() - stoppedAt).toBeLessThan(mostMs);
    stopped.kill("SIGCONT");
    expect((await refused).status).toBe(503);
    await until(async () => (await stopped.admin("POST", "/admin/v1/events?atomic=true", batch)).ok);
    await stream.arrived(4);
    await resumed.arrived(3);
    const ids = ["first", "other", "batch-1", "batch-2"].map((name) => `${name}-${own}`);
    expect(idsOf(stream)).toEqual(ids);
    expect(idsOf(resumed)).toEqual(ids.slice(1));
  });

  test("only transactions that publish and wait for their client too long are ended", async () => {
    // A database without replicas, which would end such transactions by themselves.
    const { url, drop } = await emptyDatabase();
    const proxy = await tcpProxy(Number(new URL(url).port));
    const proxied = new SQL({ url: url.replace(/:\d+\//, `:${proxy.port}/`), max: 1 });
    const sql = new SQL(url, { max: 3 });
    const pool = openPool(readDatabaseUrl(url), { connections: 1 });
    afterThisTest(async () => {
      await Promise.all([sql.close({ timeout: 0 }), proxied.close({ timeout: 0 }), pool.close()]);
      proxy.stop();
      await drop();
    });
    const ended = (idleMs: number, statementMs: number) => endSilentPublishers(pool, { idleMs, statementMs });
    const isGone = (error: unknown) =>
      String(error).includes("closed") || String(error).includes("terminating");
    const [idle, other] = [await sql.reserve(), await sql.reserve()];
    await idle.unsafe("BEGIN");
    await idle.unsafe(`SELECT ${publishingLock}`);
    await other.unsafe("BEGIN");
    await other.unsafe("SELECT 1");
    await proxied.unsafe("SELECT 1");
    const unread = proxied
      .unsafe(`SELECT pg_sleep(1), repeat('x', 100000000), ${publishingLock}`)
      .catch(isGone);
    await waiting("wait_event = 'PgSleep'", sql);
    proxy.hold();
    await waiting("wait_event = 'ClientWrite'", sql);
    expect(await ended(60_000, 60_000)).toBe(0);
    expect(await ended(60_000, 0)).toBe(1);
    expect(await ended(0, 60_000)).toBe(1);
    expect(await idle.unsafe("SELECT 1").then(() => false, isGone)).toBe(true);
    expect(await other.unsafe("SELECT 1")).toHaveLength(1);
    await other.unsafe("COMMIT");
    other.release();
    proxy.release();
    expect(await unread).toBe(true);
    await until(async () => (await ended(0, 0)) === 0);
  });

  test("a short transaction of another application does not hold back an event until the next heartbeat", async () => {
    const app = await streamed();
    const stream = await openStream(server, app.token, [followed]);
    const publisher = await sql.reserve();
    await publisher.unsafe("BEGIN");
    await publisher.unsafe(`SELECT ${publishingLock}`);
    await publishTo(1, "behind");
    await Bun.sleep(1_500);
    expect(stream.events).toEqual([]);
    await publisher.unsafe("COMMIT");
    publisher.release();
    const endedAt = performance.now();
    await stream.arrived(1);
    expect(performance.now() - endedAt).toBeLessThan(10_000);
  });
});
