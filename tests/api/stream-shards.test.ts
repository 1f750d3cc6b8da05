import { expect, test } from "bun:test";
import { isoTime } from "../../src/domain/time.ts";
import { openStream, resumeStream, type StreamedEvent, streamPath } from "../support/event-stream.ts";
import { event, example, publishAll, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { testServer } from "../support/server.ts";

// The shards of a stream: together they are the whole, and each resumes by itself.

const chat = "chat.message.sent";
const server = await testServer({ users });
/** Ids with many remainders, one of which the last of 64 shards has. */
const broadcasters = users.slice(0, 10).map(({ id }) => id);

async function streaming(): Promise<string> {
  const app = await server.application({ delivery: "stream" });
  for (const id of broadcasters) await subscribe(server, app, [chat], id);
  return app.token;
}

const path = (shard: string, more = "") => `${streamPath}?shard=${encodeURIComponent(shard)}${more}`;
const idsOf = (events: readonly StreamedEvent[]) =>
  events.map(({ data }) => data.headers["webhook-id"] ?? "");
const channelOf = ({ data }: StreamedEvent) => JSON.parse(data.body).data.broadcaster.user_id as number;
/** `rounds` messages in each channel. */
const messages = (rounds: number) => Array.from({ length: rounds }, () => broadcasters.map(message)).flat();
const { broadcaster, ...rest } = example(chat) as { broadcaster: object };
const message = (id: number) =>
  event(chat, { broadcaster_user_id: id, data: { ...rest, broadcaster: { ...broadcaster, user_id: id } } });

test("eight shards together have every event once, each the channels of its remainder", async () => {
  const token = await streaming();
  const shards = await Promise.all(
    Array.from({ length: 8 }, (_, i) => openStream(server, token, [chat], undefined, path(`${i + 1}/8`))),
  );
  const whole = await openStream(server, token, [chat]);
  await publishAll(server, messages(5));
  const all = idsOf(await whole.arrived(5 * broadcasters.length));
  const count = () => shards.reduce((sum, { events }) => sum + events.length, 0);
  await whole.until(() => count() >= all.length);
  expect(shards.flatMap(({ events }) => idsOf(events)).sort()).toEqual([...all].sort());
  for (const [i, { events }] of shards.entries()) {
    expect(new Set(events.map((one) => channelOf(one) % 8))).toEqual(
      new Set(broadcasters.map((id) => id % 8).filter((rest) => rest === i)),
    );
  }
});

test("each shard continues at its own id; with another number of shards, `after` continues", async () => {
  const token = await streaming();
  const start = isoTime(Date.now());
  const shards = ["1/2", "2/2"];
  const first = await Promise.all(
    shards.map((one) => openStream(server, token, [chat], undefined, path(one))),
  );
  await publishAll(server, messages(2));
  const counts = [0, 1].map((rest) => broadcasters.filter((id) => id % 2 === rest).length);
  const seen = await Promise.all(first.map((one, i) => one.arrived(2 * (counts[i] ?? 0))));
  for (const one of first) one.close();
  await publishAll(server, messages(1));
  for (const [i, shard] of shards.entries()) {
    // Behind the second but last event, so that the last one comes again.
    const again = resumeStream(server, token, [chat], seen[i]?.at(-2)?.id, path(shard));
    const events = await again.arrived(1 + (counts[i] ?? 0));
    expect(idsOf(events)[0]).toBe(seen[i]?.at(-1)?.data.headers["webhook-id"] ?? "");
    expect(events.every((one) => channelOf(one) % 2 === i)).toBe(true);
  }
  const third = await openStream(server, token, [chat], undefined, path("1/3", `&after=${start}`));
  const expected = broadcasters.filter((id) => id % 3 === 0);
  const events = await third.arrived(3 * expected.length);
  expect(new Set(events.map(channelOf))).toEqual(new Set(expected));
});

test("an id of another shard, or of the whole stream, is refused", async () => {
  const token = await streaming();
  const [whole, shard] = await Promise.all([
    openStream(server, token, [chat]),
    openStream(server, token, [chat], undefined, path("1/1")),
  ]);
  await publishAll(server, [message(broadcasters[0] ?? 0)]);
  const [[one], [other]] = await Promise.all([whole.arrived(1), shard.arrived(1)]);
  for (const [id, at] of [
    [one?.id, path("1/1")],
    [other?.id, streamPath],
    [other?.id, path("1/2")],
  ] as const) {
    const response = await server.get(at, token, { headers: { "last-event-id": id ?? "" } });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      code: "invalid_cursor",
      message: expect.stringContaining("after"),
    });
  }
});

test("there is no other shard", async () => {
  const token = await streaming();
  for (const shard of ["0/8", "9/8", "1/65", "8", "1/", "/8", "01/8", "1/08", "1.0/8", "1/8/2", " 1/8", ""]) {
    const response = await server.get(path(shard), token);
    expect([shard, response.status, await response.json()]).toMatchObject([
      shard,
      400,
      { errors: [{ in: "query", field: "shard", message: expect.stringContaining("2/8") }] },
    ]);
  }
});

test("a shard counts as one of the application's streams, and 64 are allowed", async () => {
  const token = await streaming();
  const [first, last] = await Promise.all(
    ["1/64", "64/64"].map((one) => openStream(server, token, [chat], undefined, path(one))),
  );
  const ids = broadcasters.filter((id) => [0, 63].includes(id % 64));
  await publishAll(server, messages(1));
  await first?.until(() => (first?.events.length ?? 0) + (last?.events.length ?? 0) === ids.length);
});
