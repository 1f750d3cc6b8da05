import { expect, test } from "bun:test";
import { hour, minute, second } from "../../src/domain/time.ts";
import { afterTests } from "../support/after-tests.ts";
import { event, publish, sendDue, settled, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { type Received, testReceiver } from "../support/receiver.ts";
import { Clock, startServer, testDirectory } from "../support/server.ts";

// When deliveries that failed are attempted again, by a clock that the test moves.

const clock = new Clock();
const data = testDirectory();
let status = 500;
const receiver = testReceiver(({ headers: sent }) => {
  if (sent["onair-event-type"] === "kicks.gifted") return new Response(null, { status: 204 });
  return new Response("try later", { status });
});
const options = { clock, data, args: ["--time-to-live", "livestream.status.updated=30"] };
let server = await startServer({ ...options, users });
afterTests(() => server.stop());
const app = await server.application({ webhook_url: receiver.url });
const types = ["channel.followed", "chat.message.sent", "kicks.gifted", "livestream.status.updated"];
await subscribe(server, app, types);

/** When the application's next delivery is due, in milliseconds from now; null: nothing is pending. */
async function dueIn(): Promise<number | null> {
  for (;;) {
    await settled(server);
    const [pending] = await server.app.store.deliveries.pending();
    if (!pending || pending.due_at > clock.ms) return pending ? pending.due_at - clock.ms : null;
    await Bun.sleep(1); // what is due now is about to be started
  }
}
/** Another delivery arrives, without which the endpoint would be disabled after a day. */
async function showLife(): Promise<void> {
  const count = receiver.received.length + 1;
  await publish(server, event("kicks.gifted"));
  await receiver.arrived(count);
}
async function attemptAfter(ms: number): Promise<Received> {
  const count = receiver.received.length + 1;
  clock.advance(ms);
  await sendDue(server, app);
  const all = await receiver.arrived(count);
  const last = all.at(-1);
  if (!last) throw new Error("nothing arrived");
  return last;
}

test("retries follow the schedule to its end under one id, each with its own timestamp and number, also across a restart", async () => {
  await publish(server, event("channel.followed"));
  const [first] = await receiver.arrived(1);
  const schedule = [
    ...[5 * second, 5 * minute, 30 * minute],
    ...[2, 5, 10, 14, 20, 24].map((hours) => hours * hour),
  ];
  for (const [i, wait] of schedule.entries()) {
    expect(await dueIn()).toBe(wait);
    if (i === 3) {
      await server.stop();
      server = await startServer(options);
      expect(await dueIn()).toBe(wait);
    }
    await showLife();
    const next = await attemptAfter(wait);
    expect(next.body).toBe(String(first?.body));
    expect(next.headers).toMatchObject({
      "webhook-id": first?.headers["webhook-id"],
      "onair-attempt": String(i + 2),
      "onair-sequence": "1",
      "webhook-timestamp": String(Math.floor(clock.ms / 1000)),
    });
  }
  expect(await dueIn()).toBeNull();
  const attempts = receiver.received.filter(
    ({ headers: sent }) => sent["webhook-id"] === first?.headers["webhook-id"],
  );
  expect(attempts).toHaveLength(10);
});

test("retries end with the time to live that is set for a type", async () => {
  status = 500;
  await receiver.next(() => publish(server, event("livestream.status.updated")));
  expect(await dueIn()).toBe(5_000);
  await attemptAfter(5_000);
  // The next one would be due in five minutes.
  expect(await dueIn()).toBeNull();
  status = 204;
  await showLife();
});

test("retries of a chat message end after 10 minutes", async () => {
  status = 500;
  const before = receiver.received.length;
  await receiver.next(() => publish(server, event("chat.message.sent")));
  expect(await dueIn()).toBe(5_000);
  await attemptAfter(5_000);
  expect(await dueIn()).toBe(300_000);
  clock.advance(600_000);
  await sendDue(server, app);
  expect(await dueIn()).toBeNull();
  expect(receiver.received).toHaveLength(before + 2);
});
