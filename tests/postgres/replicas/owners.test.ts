import { describe, expect, onTestFinished, setDefaultTimeout, test } from "bun:test";
import { SQL } from "bun";
import { shardOf } from "../../../src/postgres/shards.ts";
import { emptyDatabase, hasPostgres } from "../../support/postgres.ts";
import { type ServerProcess, serve } from "../../support/process.ts";
import { publish as publishAt, event as sample, subscriber } from "../../support/publishing.ts";
import { until } from "../../support/until.ts";

setDefaultTimeout(180_000);

/*
 * Requests to one replica that another carries out, because it owns the endpoint.
 */

const event = "channel.followed";

interface Arrival {
  readonly path: string;
  readonly event: string;
  readonly attempt: number;
  readonly at: number;
}

/** Two replicas that have both joined, and an application whose receiver answers by `answer`. */
async function twoReplicas({ concurrency = 8 } = {}) {
  const database = await emptyDatabase();
  onTestFinished(database.drop);
  const arrivals: Arrival[] = [];
  const receiver = {
    arrivals,
    status: 204,
    held: null as Promise<unknown> | null,
    of: (id: string) => arrivals.filter((one) => one.event === id),
  };
  const http = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 60,
    async fetch(request) {
      const { headers } = request;
      const { status, held } = receiver;
      arrivals.push({
        path: new URL(request.url).pathname,
        event: headers.get("onair-event-id") ?? "",
        attempt: Number(headers.get("onair-attempt")),
        at: performance.now(),
      });
      await held;
      return new Response(null, { status });
    },
  });
  onTestFinished(() => http.stop(true));
  const sql = new SQL(database.url, { max: 1 });
  onTestFinished(() => sql.close());
  const start = () =>
    serve(["--allow-private-webhooks", "--rate-limit", "0"], {
      env: { ONAIR_DATABASE: database.url, ONAIR_LOG_LEVEL: "off" },
    });
  const [first, second] = await Promise.all([start(), start()]);
  onTestFinished(async () => {
    await Promise.all([first.end("SIGKILL"), second.end("SIGKILL")]);
  });
  await until(async () => {
    const owners = await sql.unsafe("SELECT owner FROM endpoint_shards GROUP BY owner");
    return owners.length === 2 && owners.every(({ owner }: { owner: string | null }) => owner !== null);
  });
  await first.load("users", [{ id: 1, username: "one" }]);
  const url = `http://127.0.0.1:${http.port}`;
  const made = { event, broadcasters: [1], webhook_url: `${url}/a`, webhook_concurrency: concurrency };
  const application = await subscriber(first, made);
  const publish = async (id: string, at: ServerProcess = first) => {
    const answer = await publishAt(at, sample(event, { id, broadcaster_user_id: 1 }));
    expect(answer.status).toBe(202);
  };
  const rows = (columns: string) => sql.unsafe(`SELECT ${columns} FROM deliveries ORDER BY seq`);
  /** The owner of an application's endpoint, and the number of owners. */
  const owners = async (id: string): Promise<[owner: number, count: number]> => {
    const [row] = await sql.unsafe(
      `SELECT owner::float8, (SELECT count(DISTINCT owner)::int FROM endpoint_shards) AS count
       FROM endpoint_shards WHERE shard = $1`,
      [shardOf(id)],
    );
    return [row.owner, row.count];
  };
  return { first, second, url, receiver, application, publish, rows, owners };
}

describe.skipIf(!hasPostgres)("two replicas", () => {
  test("an event published at one and delivered by the other starts at once, in order with the other's events", async () => {
    const { first, second, receiver, publish } = await twoReplicas({ concurrency: 1 });
    const names = Array.from({ length: 40 }, (_, i) => `e${i}`);
    for (const [i, id] of names.entries()) await publish(id, i % 2 ? first : second);
    await until(() => receiver.arrivals.length >= names.length);
    expect(receiver.arrivals.map(({ event }) => event)).toEqual(names);
    const waits: number[] = [];
    for (let i = 0; i < 40; i++) {
      const id = `x${i}`;
      await publish(id, i % 2 ? first : second);
      const acknowledged = performance.now();
      await until(() => receiver.of(id).length >= 1);
      waits.push((receiver.of(id)[0]?.at ?? 0) - acknowledged);
    }
    // Without notifications nearly every wait would be a second, the interval of polling. On a busy machine some waits
    // are that long anyway.
    expect(waits.sort((a, b) => a - b)[9]).toBeLessThan(400);
  });

  test("a new URL, a retry, a replay and an enabled endpoint take effect, whichever replica is asked", async () => {
    const { first, second, url, receiver, application, publish, rows } = await twoReplicas();
    const path = `/admin/v1/applications/${application.id}`;
    await publish("before");
    await until(() => receiver.of("before").length >= 1);
    for (const [i, at] of [first, second].entries()) {
      const other = i === 0 ? second : first;
      // The one that answers is asked for no event: the notifications come from the other one.
      expect((await at.admin("PATCH", path, { webhook_url: `${url}/moved-${i}` })).status).toBe(200);
      await Bun.sleep(400);
      await publish(`moved-${i}`, other);
      await until(() => receiver.of(`moved-${i}`).length >= 1);
      expect(receiver.of(`moved-${i}`)[0]?.path).toBe(`/moved-${i}`);

      let delivery = "";
      await until(async () => {
        const list = "/public/v1/events/deliveries?limit=1&status=delivered";
        const found = await other.get(list, application.token);
        const [last] = ((await found.json()) as { data: { id: string; event_id: string }[] }).data;
        delivery = last?.id ?? "";
        return last?.event_id === `moved-${i}`;
      });
      const retried = await at.post(
        `/public/v1/events/deliveries/${delivery}/retry`,
        undefined,
        application.token,
      );
      expect(retried.status).toBeLessThan(300);
      await until(() => receiver.of(`moved-${i}`).length >= 2);

      // A delivery whose attempt is not recorded yet is not sent again.
      await until(async () => {
        const kept = await rows("event_id, status, attempts");
        return Bun.deepEquals(kept.at(-1), { event_id: `moved-${i}`, status: "delivered", attempts: 2 });
      });
      const range = { from: new Date(Date.now() - 60_000).toISOString(), to: new Date().toISOString() };
      const replay = await at.post("/public/v1/events/replays", range, application.token);
      expect(replay.status).toBeLessThan(300);
      await until(() => receiver.of(`moved-${i}`).length >= 3);

      receiver.status = 410;
      await publish(`gone-${i}`, at);
      await until(() => receiver.of(`gone-${i}`).length >= 1);
      await until(async () =>
        (await (await at.admin("GET", `${path}/endpoint`)).text()).includes('"disabled"'),
      );
      await publish(`waiting-${i}`, other);
      receiver.status = 204;
      expect((await at.admin("POST", `${path}/endpoint/enable`)).status).toBeLessThan(300);
      await until(() => receiver.of(`waiting-${i}`).length >= 1);
    }
  });

  test("one that was suspended sends nothing more, and its late results change nothing", async () => {
    const { first, second, receiver, application, publish, rows, owners } = await twoReplicas({
      concurrency: 1,
    });
    const released = Promise.withResolvers<void>();
    receiver.held = released.promise;
    const names = Array.from({ length: 20 }, (_, i) => `e${i}`);
    await publish("e0");
    await until(() => receiver.arrivals.length >= 1);
    for (const id of names.slice(1)) await publish(id);
    // The owner of the endpoint waits for the answer.
    for (const [stopped, other] of [
      [first, second],
      [second, first],
    ] as const) {
      const [before] = await owners(application.id);
      stopped.kill("SIGSTOP");
      receiver.held = null;
      await until(async () => (await owners(application.id))[1] === 1);
      const [after] = await owners(application.id);
      if (after === before) {
        stopped.kill("SIGCONT");
        await until(async () => (await owners(application.id))[1] === 2);
        await publish("later", other);
        continue;
      }
      await until(() => receiver.arrivals.length >= 1 + names.length);
      released.resolve();
      await Bun.sleep(50);
      stopped.kill("SIGCONT");
      break;
    }
    await Bun.sleep(1_000);
    expect(receiver.of("e0")).toHaveLength(2);
    for (const id of names.slice(1)) expect(receiver.of(id)).toHaveLength(1);
    const kept = await rows("status, attempts");
    for (const row of kept) expect(row).toEqual({ status: "delivered", attempts: 1 });
  });
});
