import { Database } from "bun:sqlite";
import { beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { metric } from "../../support/metrics.ts";
import { ownProcess, type ServerProcess } from "../../support/process.ts";
import { event as sample, subscriber } from "../../support/publishing.ts";
import { users } from "../../support/real-data.ts";
import { ownReceiver, type Receiver } from "../../support/receiver.ts";
import { json } from "../../support/server.ts";
import { canMount, SmallDisk } from "../../support/small-disk.ts";
import { until } from "../../support/until.ts";

describe.skipIf(!canMount)("a full disk", () => {
  let disk: SmallDisk;
  let receiver: Receiver;
  let server: ServerProcess;
  /** Deliveries are answered after this. */
  let gate: Promise<unknown>;

  const start = async () => {
    const env = { ONAIR_LOG_LEVEL: "off" };
    server = await ownProcess(["--data", disk.data, "--allow-private-webhooks"], { env });
  };
  beforeEach(async () => {
    disk = SmallDisk.own(16);
    gate = Promise.resolve();
    receiver = ownReceiver(async () => {
      await gate;
      return new Response(null, { status: 204 });
    });
    await start();
    await server.load("users", users);
    await subscriber(server, { webhook_url: receiver.url, event: "channel.followed", broadcasters: [1001] });
  });

  const publish = (id: string) =>
    server.admin("POST", "/admin/v1/events", sample("channel.followed", { id }));

  /** Publishes until the first refusal, and a few after it; gives the ids by how they were answered. */
  async function publishUntilFull(): Promise<{ kept: string[]; refused: Response[]; refusedIds: string[] }> {
    const [kept, refused, refusedIds]: [string[], Response[], string[]] = [[], [], []];
    for (let n = 0; refused.length < 5; n++) {
      const id = `event-${n}`;
      const response = await publish(id);
      if (response.status === 202) kept.push(id);
      else {
        refused.push(response);
        refusedIds.push(id);
      }
      if (n > 20_000) throw new Error("the disk does not become full");
    }
    return { kept, refused, refusedIds };
  }

  function query<T>(sql: string): T[] {
    const db = new Database(join(disk.data, "onair.db"), { readonly: true });
    try {
      return db.query<T, []>(sql).all();
    } finally {
      db.close();
    }
  }

  const allFinal = async () => {
    const pending = "SELECT id FROM deliveries WHERE status = 'pending' LIMIT 1";
    for (const end = Date.now() + 15_000; query(pending).length > 0 && Date.now() < end; )
      await Bun.sleep(50);
    return query<{ status: string; count: number }>(
      "SELECT status, count(*) AS count FROM deliveries GROUP BY status",
    );
  };

  /** Checks what has arrived: these events and no others, each under one id, in an unbroken sequence. */
  function expectArrived(events: readonly string[]): void {
    const idsOf = new Map<string, Set<string>>();
    const sequences = new Set<number>();
    for (const { headers } of receiver.received) {
      const event = String(headers["onair-event-id"]);
      idsOf.set(event, (idsOf.get(event) ?? new Set()).add(String(headers["webhook-id"])));
      sequences.add(Number(headers["onair-sequence"]));
    }
    expect([...idsOf.keys()].sort()).toEqual([...events].sort());
    expect([...idsOf].filter(([, ids]) => ids.size !== 1)).toEqual([]);
    expect([...sequences].sort((a, b) => a - b)).toEqual(events.map((_, i) => i + 1));
  }

  /**
   * Fills the disk while deliveries wait for their answers, and lets them be answered, which cannot be recorded. Returns
   * the published events.
   */
  async function answeredWhenFull(): Promise<string[]> {
    const { promise, resolve } = Promise.withResolvers<void>();
    gate = promise;
    const early = Array.from({ length: 200 }, (_, n) => `early-${n}`);
    const answers = await Promise.all(early.map(publish));
    expect(answers.filter(({ status }) => status !== 202)).toEqual([]);
    await receiver.arrived(1);
    disk.fill();
    const { kept } = await publishUntilFull();
    resolve();
    await until(async () => (await metric(server, "onair_results_unrecorded")) > 0);
    const recorded = query("SELECT id FROM deliveries WHERE status = 'delivered'").length;
    const sent = new Set(receiver.received.map(({ headers }) => headers["webhook-id"]));
    expect(sent.size).toBeGreaterThan(recorded);
    return [...early, ...kept];
  }

  test("while publishing: 503 with Retry-After, and nothing half-written; publishing works again when there is space", async () => {
    disk.fill();
    const { kept, refused, refusedIds } = await publishUntilFull();
    for (const response of refused) {
      expect(response.status).toBe(503);
      expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
      expect(await json<object>(response)).toMatchObject({
        code: "unavailable",
        request_id: expect.any(String),
      });
    }
    const events = query<{ id: string; made: number }>(
      `SELECT id, (SELECT count(*) FROM deliveries WHERE event_seq = seq) AS made FROM events ORDER BY seq`,
    );
    const publishedThen = kept.filter((id) => events.some((event) => event.id === id));
    expect(publishedThen).toEqual(kept);
    expect(events.filter(({ made }) => made !== 1)).toEqual([]);

    disk.free();
    for (const id of refusedIds) expect((await publish(id)).status).toBe(202);
    await receiver.arrived(kept.length + refusedIds.length);
    expect(await allFinal()).toEqual([{ status: "delivered", count: kept.length + refusedIds.length }]);
    expectArrived([...kept, ...refusedIds]);
  });

  test("while recording: a sent delivery is recorded when there is space again", async () => {
    const early = await answeredWhenFull();
    expect((await fetch(`${server.adminUrl}/healthz`)).status).toBe(200);
    disk.free();
    expect(await allFinal()).toEqual([{ status: "delivered", count: early.length }]);
    expectArrived(early);
  });

  test.each([
    ["was killed after unrecorded answers", "SIGKILL"],
    ["was stopped before it was answered", "SIGTERM"],
  ] as const)(
    "a server that %s starts: reads go on, publishing is 503 until there is space, and then all arrives under its ids",
    async (_, signal) => {
      const { token } = await server.application();
      const { promise, resolve } = Promise.withResolvers<void>();
      const kept: string[] = [];
      if (signal === "SIGKILL") kept.push(...(await answeredWhenFull()));
      else {
        // Neither answered nor moved to the log when the space runs out.
        gate = promise;
        for (let n = 0; n < 50; n++) {
          expect((await publish(`early-${n}`)).status).toBe(202);
          kept.push(`early-${n}`);
        }
        disk.fill();
        kept.push(...(await publishUntilFull()).kept);
      }
      await server.end(signal);
      disk.fill();
      resolve();
      await start();
      expect((await server.get(`/public/v1/users/${users[0]?.username}`, token)).status).toBe(200);
      expect((await server.get("/public/v1/events/subscriptions", token)).status).toBe(200);
      expect((await fetch(`${server.adminUrl}/healthz`)).status).toBe(200);
      const later = Array.from({ length: 5 }, (_, n) => `later-${n}`);
      for (const id of later) {
        const refused = await publish(id);
        expect([refused.status, Number(refused.headers.get("retry-after")) > 0]).toEqual([503, true]);
      }
      const ready = await fetch(`${server.adminUrl}/readyz`);
      expect([ready.status, await ready.text()]).toEqual([503, expect.stringContaining("full")]);

      disk.free();
      await until(async () => (await fetch(`${server.adminUrl}/readyz`)).status === 200);
      for (const id of later) expect((await publish(id)).status).toBe(202);
      expect(await allFinal()).toEqual([{ status: "delivered", count: kept.length + later.length }]);
      expectArrived([...kept, ...later]);
    },
  );
});
