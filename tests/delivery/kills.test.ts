import { expect, test } from "bun:test";
import { seeded } from "../../src/dev/chance.ts";
import { isoTime, minute } from "../../src/domain/time.ts";
import { killRun } from "../support/fault-run.ts";
import { samplesOf } from "../support/metrics.ts";
import { ownProcess } from "../support/process.ts";
import { event, publishAll, subscriber } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { ownReceiver } from "../support/receiver.ts";
import { isOnPostgres, json, ownDirectory } from "../support/server.ts";
import { until } from "../support/until.ts";

const promise = "every acknowledged event arrives, under one id, in an unbroken sequence";

// Hundreds of kills in a row: bun tests/bench/kills.ts. Of servers on PostgreSQL: postgres/replicas/processes.test.ts
test.skipIf(isOnPostgres)(
  `kill -9 at random moments: ${promise}`,
  async () => {
    const report = await killRun({ kills: 3, random: seeded(Date.now()) });
    expect(report.problems).toEqual([]);
    expect(report.acknowledged).toBeGreaterThan(20);
    expect(report.deliveries).toBeGreaterThanOrEqual(report.acknowledged);
  },
  300_000,
);

test.skipIf(isOnPostgres)(
  "restarts by SIGTERM under load: every acknowledged event arrives, and no request is sent twice",
  async () => {
    const report = await killRun({ kills: 2, random: seeded(Date.now()), signal: "SIGTERM" });
    expect(report.problems).toEqual([]);
    expect(report.acknowledged).toBeGreaterThan(20);
    expect(report.requests).toBe(report.deliveries);
  },
  300_000,
);

const count = 300;
const path = "/public/v1/events/replays";

test("a replay goes on after kill -9, and every delivery of its range arrives under its id", async () => {
  const directory = ownDirectory();
  const killed = Promise.withResolvers<void>();
  const accepted = () => new Response(null, { status: 204 });
  // Answers of the replay wait, so that it is not at its end when the server is killed.
  const receiver = ownReceiver((_, number) =>
    number > count + 100 ? killed.promise.then(accepted) : accepted(),
  );
  const args = ["--data", directory, "--allow-private-webhooks", "--rate-limit", "0"];
  let server = await ownProcess(args);
  await server.load("users", users.slice(0, 1));
  const broadcaster = users[0]?.id ?? 0;
  const subscription = { webhook_url: receiver.url, event: "kicks.gifted", broadcasters: [broadcaster] };
  const { token } = await subscriber(server, subscription);
  const gift = event("kicks.gifted", { broadcaster_user_id: broadcaster });
  await publishAll(server, Array(count).fill(gift));
  const first = (await receiver.arrived(count)).map(({ headers }) => headers["webhook-id"]);

  // A delivery whose success is not recorded yet is pending: it is matched, and its request counts for the replay.
  const recorded = async () =>
    samplesOf(await (await server.admin("GET", "/metrics")).text()).get("onair_deliveries_pending") === 0;
  await until(recorded);
  const range = { from: isoTime(Date.now() - minute), to: isoTime(Date.now() + minute) };
  const made = await server.post(path, range, token);
  const { id } = (await json<{ data: { id: string } }>(made)).data;
  await receiver.arrived(count + 100);
  await server.end("SIGKILL");
  const before = receiver.received.length;
  expect(before).toBeLessThan(2 * count);
  killed.resolve();

  server = await ownProcess(args);
  const get = async () => {
    const answer = await server.get(`${path}/${id}`, token);
    return (await json<{ data: Record<string, unknown> }>(answer)).data;
  };
  await until(async () => (await get())["state"] !== "running");
  expect(await get()).toMatchObject({ state: "completed", progress: 1, matched: count, queued: count });
  const replayed = () => new Set(receiver.received.slice(count).map(({ headers }) => headers["webhook-id"]));
  await until(() => replayed().size >= count);
  expect(replayed()).toEqual(new Set(first));
}, 300_000);
