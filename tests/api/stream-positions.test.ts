import { expect, test } from "bun:test";
import { cpSync } from "node:fs";
import { day, isoTime, second } from "../../src/domain/time.ts";
import { openStream, resumeStream, type StreamedEvent, streamPath } from "../support/event-stream.ts";
import { event, publish, publishAll, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import {
  Clock,
  isOnPostgres,
  ownDirectory,
  ownServer,
  type TestServer,
  testServer,
} from "../support/server.ts";

// Where a stream begins: now, behind the event of `Last-Event-ID`, or `after` a time.

const followed = "channel.followed";
const chat = "chat.message.sent";
const both = [followed, chat];
const types = (events: readonly StreamedEvent[]) => events.map(({ type }) => type);

const server = await testServer({ users });
/** The token of an application on the event stream, subscribed to events of broadcaster 1001. */
async function streaming(on: TestServer, names = both): Promise<string> {
  const app = await on.application({ delivery: "stream" });
  await subscribe(on, app, names);
  return app.token;
}
const token = await streaming(server);

test("behind Last-Event-ID comes everything once, in order, and nothing twice", async () => {
  const first = await openStream(server, token, both);
  const five = Array.from({ length: 5 }, () => event(followed));
  await publishAll(server, five);
  const seen = [...(await first.arrived(5))];
  first.close();
  const many = Array.from({ length: 600 }, () => event(chat));
  await publishAll(server, many);
  const rest = await resumeStream(server, token, both, seen[2]?.id).arrived(602);
  const ids = (events: readonly StreamedEvent[]) => events.map(({ data }) => data.headers["webhook-id"]);
  expect(ids(rest.slice(0, 2))).toEqual(ids(seen.slice(3)));
  const chats = rest.slice(2).map(({ data }) => Number(data.headers["onair-sequence"]));
  expect(chats).toEqual(Array.from({ length: 600 }, (_, i) => (chats[0] ?? 0) + i));
  expect(new Set(rest.map(({ id }) => id)).size).toBe(602);
});

test("behind ?lastEventId= too, unless the header names a later event", async () => {
  const first = await openStream(server, token, both);
  await publishAll(server, [event(followed), event(chat), event(followed)]);
  const [seen, next] = await first.arrived(3);
  first.close();
  const path = (id = "") => `${streamPath}?lastEventId=${encodeURIComponent(id)}&after=${isoTime(0)}`;
  const client = resumeStream(server, token, both, undefined, path(seen?.id));
  expect(types(await client.arrived(2))).toEqual([chat, followed]);
  const later = resumeStream(server, token, both, next?.id, path(seen?.id));
  expect(types(await later.arrived(1))).toEqual([followed]);
  const whole = resumeStream(server, token, both, undefined, path(""));
  expect((await whole.arrived(4)).length).toBeGreaterThan(3);
});

test.each([
  ["without Last-Event-ID", () => streamPath],
  ["after a time to come", () => `${streamPath}?after=${isoTime(Date.now() + day)}`],
])("%s it begins now", async (_, path) => {
  await publish(server, event(followed));
  const client = await openStream(server, token, both, undefined, path());
  await publish(server, event(chat));
  expect(types(await client.arrived(1))).toEqual([chat]);
});

test("a program that has had no event yet misses none: `after` is where it begins each time", async () => {
  const quiet = await streaming(server, [chat]);
  const path = `${streamPath}?after=${isoTime(Date.now())}`;
  (await openStream(server, quiet, both, undefined, path)).close();
  await publish(server, event(chat));
  const again = resumeStream(server, quiet, both, undefined, path);
  const [missed] = await again.arrived(1);
  again.close();
  expect(missed?.type).toBe(chat);
  await publish(server, event(chat));
  const [next] = await resumeStream(server, quiet, both, missed?.id, path).arrived(1);
  expect(next?.data.headers["onair-sequence"]).toBe("2");
});

test("a server that stops ends its streams at once, and a client continues at its position with the next server", async () => {
  const data = ownDirectory();
  const first = await ownServer({ data, users });
  const known = await streaming(first);
  const client = await openStream(first, known, [followed]);
  await publish(first, event(followed));
  const [seen] = await client.arrived(1);
  await publish(first, event(chat));
  const at = performance.now();
  await first.stop();
  expect(performance.now() - at).toBeLessThan(5_000);
  await client.until(({ errors }) => errors.length > 0);

  const next = await ownServer({ data });
  expect(types(await resumeStream(next, known, both, seen?.id).arrived(1))).toEqual([chat]);
});

test.skipIf(isOnPostgres)(
  "Last-Event-ID from before retention is answered with a gap, and then with everything that is still there",
  async () => {
    const clock = new Clock();
    const start = clock.ms;
    const own = await ownServer({ clock, args: ["--keep-bodies-days", "2"], users });
    const prune = async () => {
      const retention = { deliveredMs: 2 * day, failedMs: 2 * day, bodiesMs: 2 * day };
      while (!(await own.app.store.retention.prune(retention, clock.ms))) {}
    };
    const resumed = (of: string, id: string | undefined, count: number) =>
      resumeStream(own, of, both, id).arrived(count);
    const busy = await streaming(own);
    const client = await openStream(own, busy, both);
    await publish(own, event(followed));
    const [seen] = await client.arrived(1);
    client.close();
    await publish(own, event(followed));
    // A store may keep everything for up to a day longer.
    clock.advance(day);
    await prune();
    clock.advance(day);
    await publish(own, event(chat));
    expect(types(await resumed(busy, seen?.id, 2))).toEqual([followed, chat]);

    clock.advance(1.25 * day);
    await prune();
    const [gap, rest] = await resumed(busy, seen?.id, 2);
    const from = isoTime(start);
    expect(gap).toMatchObject({ type: "gap", data: { from, to: isoTime(start + 1.25 * day) } });
    expect(rest?.type).toBe(chat);
    expect(types(await resumed(busy, gap?.id, 1))).toEqual([chat]);

    // Long ago is not too long ago where nothing was published since.
    const quiet = await streaming(own);
    const before = await openStream(own, quiet, both);
    await publish(own, event(chat));
    const [last] = await before.arrived(1);
    before.close();
    clock.advance(30 * day);
    await prune();
    const after = await openStream(own, quiet, [followed], last?.id);
    await publish(own, event(followed));
    expect(types(await after.arrived(1))).toEqual([followed]);
    expect(types(await resumed(busy, seen?.id, 2))).toEqual(["gap", followed]);
  },
);

test.skipIf(isOnPostgres)(
  "a reader that was further than the restored copy misses no event that the copy publishes",
  async () => {
    const clock = new Clock();
    const [data, copy] = [ownDirectory(), ownDirectory()];
    const before = await ownServer({ data, clock, users });
    const known = await streaming(before);
    await publish(before, event(followed));
    await before.stop();
    cpSync(data, copy, { recursive: true });
    const lost = await ownServer({ data, clock });
    const client = await openStream(lost, known, both);
    clock.advance(second);
    await publishAll(lost, [event(followed), event(followed)]);
    const [, seen] = await client.arrived(2);
    client.close();
    await lost.stop();

    clock.advance(second);
    const restored = await ownServer({ data: copy, clock });
    await publishAll(restored, [event(chat), event(chat), event(chat)]);
    const events = await resumeStream(restored, known, both, seen?.id).arrived(2);
    expect(types(events)[0]).toBe("gap");
    const all = await resumeStream(restored, known, both, events[0]?.id).arrived(3);
    expect(types(all)).toEqual([chat, chat, chat]);
  },
);
