import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { SQL } from "bun";
import { shardOf } from "../../../src/postgres/shards.ts";
import { afterThisTest } from "../../support/after-tests.ts";
import { administer, hasPostgres } from "../../support/postgres.ts";
import { type PostgresServer, startPostgres } from "../../support/postgres-server.ts";
import { ownProcess, type ServerProcess } from "../../support/process.ts";
import { event, publish, subscriber } from "../../support/publishing.ts";
import { ownReceiver } from "../../support/receiver.ts";
import { json, ndjson, type TestApplication } from "../../support/server.ts";
import { until } from "../../support/until.ts";

setDefaultTimeout(180_000);

/*
 * A process of PostgreSQL is stopped while its transaction holds locks, which it never releases by itself.
 */

const followed = "channel.followed";

describe.skipIf(!hasPostgres)("a stopped process of PostgreSQL", () => {
  let postgres: PostgresServer;
  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterAll(() => postgres?.stop());

  async function served(name: string) {
    await administer(postgres.url("postgres"), `CREATE DATABASE ${name}`);
    const env = { ONAIR_DATABASE: postgres.url(name), ONAIR_DATABASE_CONNECTIONS: "6" };
    const start = () => ownProcess(["--allow-private-webhooks"], { env: { ...env, ONAIR_LOG_LEVEL: "off" } });
    const server = await start();
    await server.load(
      "users",
      [1, 2].map((id) => ({ id, username: `user_${id}` })),
    );
    return { server, start, url: postgres.url(name) };
  }

  /**
   * Stops the process that waits for a lock of `blocking`, once `act` made it begin, and then lets go of that lock. The
   * process goes on when the returned function is called.
   */
  async function stopped(url: string, blocking: string, act: () => void): Promise<() => void> {
    const sql = new SQL(url, { max: 2 });
    const blocker = await sql.reserve();
    await blocker.unsafe("BEGIN");
    await blocker.unsafe(blocking);
    act();
    let pid = 0;
    await until(async () => {
      const [found] = await sql.unsafe(
        `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
         AND xact_start < query_start AND NOT query LIKE '%pg_stat_activity%'`,
      );
      pid = found?.pid ?? 0;
      return pid > 0;
    });
    process.kill(pid, "SIGSTOP");
    const goOn = () => process.kill(pid, "SIGCONT");
    afterThisTest(() => {
      try {
        goOn();
      } catch {
        // It has ended.
      }
    });
    await blocker.unsafe("ROLLBACK");
    blocker.release();
    await sql.close({ timeout: 0 });
    return goOn;
  }

  const delivered = async (server: ServerProcess, { id }: Pick<TestApplication, "id">): Promise<number> => {
    const answer = await server.admin(
      "GET",
      `/admin/v1/deliveries?application_id=${id}&status=delivered&limit=100`,
    );
    return (await json<{ data: unknown[] }>(answer)).data.length;
  };

  test("that holds a batch: other broadcasters are published to within 30 s, and the batch when it goes on", async () => {
    const { server, url } = await served("batch");
    const [one, other] = [ownReceiver(), ownReceiver()];
    await subscriber(server, { webhook_url: one.url, event: followed, broadcasters: [1] });
    const app = await subscriber(server, { webhook_url: other.url, event: followed, broadcasters: [2] });
    const batch = ndjson([1, 2].map((n) => event(followed, { id: `batch-${n}`, broadcaster_user_id: 1 })));
    const publishBatch = () => server.admin("POST", "/admin/v1/events?atomic=true", batch);
    const blocking = `INSERT INTO event_ids (id, seq, name, version, broadcaster_user_id, published_at, fingerprint, deliveries)
      VALUES ('batch-2', -1, '', 1, 1, 0, '', 0)`;
    let refused: Promise<Response> | null = null;
    const goOn = await stopped(url, blocking, () => {
      refused = publishBatch();
    });
    const stoppedAt = performance.now();
    const publishTo = async (broadcaster: number, id: string) =>
      (await publish(server, event(followed, { id, broadcaster_user_id: broadcaster }))).status;
    let published = 0;
    while (performance.now() - stoppedAt < 30_000 && published < 5) {
      // Events of the held broadcaster go on arriving, in the same commits.
      const statuses = await Promise.all([
        publishTo(1, `held-${published}`),
        publishTo(2, `free-${published}`),
      ]);
      expect(statuses[0]).toBe(503);
      if (statuses[1] === 202) published++;
    }
    expect(published).toBe(5);
    expect((await (refused as Promise<Response> | null))?.status).toBe(503);
    await other.arrived(5);
    await until(async () => (await delivered(server, app)) === 5);
    expect(one.received).toEqual([]);
    goOn();
    await until(async () => (await publishBatch()).ok);
    await one.arrived(2);
    expect(await publishTo(1, "after")).toBe(202);
    await one.arrived(3);
    expect(await server.end("SIGTERM")).toBe(0);
    expect([one.received.length, other.received.length]).toEqual([3, 5]);
  });

  test("that records: other results are recorded, the server ends, and the next one sends none of them again", async () => {
    const { server, start, url } = await served("records");
    const [gone, other] = [ownReceiver(() => new Response(null, { status: 410 })), ownReceiver()];
    const held = await subscriber(server, { webhook_url: gone.url, event: followed, broadcasters: [1] });
    let app = await subscriber(server, { webhook_url: other.url, event: followed, broadcasters: [2] });
    while (shardOf(app.id) === shardOf(held.id)) {
      await server.admin("DELETE", `/admin/v1/applications/${app.id}`);
      app = await subscriber(server, { webhook_url: other.url, event: followed, broadcasters: [2] });
    }
    const publishTo = async (at: ServerProcess, broadcaster: number, id: string) =>
      expect((await publish(at, event(followed, { id, broadcaster_user_id: broadcaster }))).status).toBe(202);
    await stopped(url, "LOCK TABLE notices IN SHARE MODE", () => void publishTo(server, 1, "gone"));
    for (let n = 0; n < 5; n++) await publishTo(server, 2, `free-${n}`);
    await other.arrived(5);
    await until(async () => (await delivered(server, app)) === 5);
    await until(async () => (await fetch(`${server.adminUrl}/readyz`)).status === 503);
    expect(await (await fetch(`${server.adminUrl}/readyz`)).text()).toContain("has not ended for 30 seconds");
    const endedAt = performance.now();
    expect(await server.end("SIGTERM")).toBe(0);
    expect(performance.now() - endedAt).toBeLessThan(30_000);

    const next = await start();
    await publishTo(next, 2, "after");
    await other.arrived(6);
    await until(async () => (await delivered(next, app)) === 6);
    expect(other.received).toHaveLength(6);
    expect(await next.end("SIGTERM")).toBe(0);
  });
});
