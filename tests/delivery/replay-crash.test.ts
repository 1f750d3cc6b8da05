import { expect, test } from "bun:test";
import { isoTime, minute } from "../../src/domain/time.ts";
import { ownProcess } from "../support/process.ts";
import { event, publishAll, subscriber } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { ownReceiver } from "../support/receiver.ts";
import { json, ownDirectory } from "../support/server.ts";
import { until } from "../support/until.ts";

const count = 600;
const path = "/public/v1/events/replays";

test("a replay goes on after kill -9, and every delivery of its range arrives under its id", async () => {
  const directory = ownDirectory();
  const receiver = ownReceiver();
  const args = ["--data", directory, "--allow-private-webhooks", "--rate-limit", "0"];
  let server = await ownProcess(args);
  await server.load("users", users.slice(0, 1));
  const broadcaster = users[0]?.id ?? 0;
  const subscription = { webhook_url: receiver.url, event: "kicks.gifted", broadcasters: [broadcaster] };
  const { token } = await subscriber(server, subscription);
  const gift = event("kicks.gifted", { broadcaster_user_id: broadcaster });
  await publishAll(server, Array(count).fill(gift));
  const first = (await receiver.arrived(count)).map(({ headers }) => headers["webhook-id"]);

  const range = { from: isoTime(Date.now() - minute), to: isoTime(Date.now() + minute) };
  const made = await server.post(path, range, token);
  const { id } = (await json<{ data: { id: string } }>(made)).data;
  await receiver.arrived(count + 100);
  await server.end("SIGKILL");
  const before = receiver.received.length;
  expect(before).toBeLessThan(2 * count);

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
