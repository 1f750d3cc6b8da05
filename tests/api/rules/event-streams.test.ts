import { afterEach, expect, test } from "bun:test";
import { connect } from "node:net";
import { Cursors } from "../../../src/api/http/cursors.ts";
import { EventStreams, StreamSlots } from "../../../src/api/stream/streams.ts";
import { newSigningKey, newWebhookSecret, readSigningKey } from "../../../src/delivery/signature.ts";
import type { StreamedDelivery, StreamShard } from "../../../src/domain/deliveries.ts";
import { createLog } from "../../../src/runtime/log.ts";
import { ownListener } from "../../support/listener.ts";
import { until } from "../../support/until.ts";

const signingKey = readSigningKey(newSigningKey());
const cursors = new Cursors("secret");
const application = {
  id: "01KATHZX5M9S3E6R8B2D4F7G1H",
  name: "Test",
  client_type: "confidential" as const,
  delivery: "stream" as const,
  webhook_url: null,
  webhook_secret: newWebhookSecret(),
  webhook_headers: [],
  filters: {},
  filters_generation: 0,
  former_urls: [],
  retired_webhook_secrets: [],
  scopes: ["events:subscribe" as const],
  redirect_uris: [],
  locked: [],
  owner_user_id: null,
  rate_limit: null,
  subscription_limit: null,
  webhook_concurrency: null,
  disabled: false,
  endpoint_generation: 0,
  created_at: "",
  updated_at: "",
};
const grant = { userId: null, scopes: application.scopes, expiresAt: 1e15 };
/** The caller of a token, which is here the id of its application. */
const callerOf = (id: string) => ({
  grant: { ...grant, applicationId: id },
  application: { ...application, id },
  tokenHash: null,
});

function delivery(seq: number): StreamedDelivery {
  const body = JSON.stringify({ seq, filling: "x".repeat(10_000) });
  const event = { id: `event-${seq}`, name: "channel.followed", version: 1, body };
  return { seq, id: `d${seq}`, subscription_id: "s", sequence: seq, attempts: 0, published_at: seq, event };
}

/** A log of deliveries without an end, as many in one read as `perRead` says. Unless they are shown, a read has none. */
function endlessLog(perRead: number, isShown: boolean) {
  const log = { last: 0, reads: 0 };
  const deliveries = {
    last: async () => log.last,
    lastBefore: async () => 0,
    publishedUpTo: async () => null,
    lastRemoved: async () => 0,
    async streamed(_: string, after: number) {
      log.reads++;
      const upTo = Math.min(after + perRead, log.last);
      const found = Array.from({ length: upTo - after }, (_, i) => delivery(after + 1 + i));
      return { deliveries: isShown ? found : [], lost: 0, upTo, isAll: upTo === log.last };
    },
  };
  const notices = { lastBefore: async () => 0, following: async () => [] };
  return { log, store: { deliveries: deliveries as never, notices: notices as never } };
}

let streams: EventStreams;
afterEach(() => streams.close());

function start(
  perRead: number,
  { isShown = true, ...options }: { heartbeatMs?: number; stalledMs?: number; isShown?: boolean } = {},
) {
  const { log, store } = endlessLog(perRead, isShown);
  streams = new EventStreams({
    store,
    authenticator: { authenticate: async (token) => callerOf(token), changeCount: 0 },
    cursors,
    signingKey: () => signingKey,
    log: createLog("off"),
    now: Date.now,
    slots: new StreamSlots(() => 100),
    isTrimmed: false,
    keptMs: 1e15,
    ...options,
  });
  const cuts: number[] = [];
  const open = (i = 0, lastId: string | null = null) =>
    streams.open({
      caller: callerOf(application.id),
      shard: null,
      lastId: lastId === null ? null : { in: "header", field: "Last-Event-ID", text: lastId },
      after: null,
      token: application.id,
      cut: () => cuts.push(i),
    });
  const openShard = (id: string, shard: StreamShard) =>
    streams.open({ caller: callerOf(id), shard, lastId: null, after: null, token: id, cut() {} });
  const publish = (upTo: number) => {
    log.last = upTo;
    streams.wake([application.id]);
  };
  return { log, cuts, open, openShard, publish, wakeAll: () => streams.wakeAll() };
}

const text = (bytes: Uint8Array | undefined) => new TextDecoder().decode(bytes);

test("closing refuses new streams", async () => {
  const { open } = start(10);
  streams.close();
  await expect(open()).rejects.toMatchObject({ code: "unavailable" });
});

test("a reader that takes nothing is given nothing more, and is cut off", async () => {
  const { log, cuts, open, publish } = start(10, { stalledMs: 20 });
  const reader = (await open()).getReader();
  expect(text((await reader.read()).value)).toBe("retry: 1000\n");
  publish(1_000_000);
  const { value } = await reader.read();
  expect(text(value)).toContain('"webhook-id":"d1"');
  const readsBefore = log.reads;
  await until(() => cuts.length > 0);
  expect(log.reads).toBe(readsBefore);
  expect(streams.count).toBe(0);
  expect((await reader.read()).done).toBe(true);
});

test("behind a connection that does not read, the log is not read either", async () => {
  const { log, open, publish } = start(10);
  const listener = ownListener(async () => new Response(await open()));
  const socket = connect(listener.port, "127.0.0.1");
  let received = 0;
  socket.on("data", ({ length }) => {
    received += length;
  });
  socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  await until(() => received > 0);
  socket.pause();
  publish(10_000_000);
  // Until the buffers of the kernel are full.
  let reads = -1;
  await until(async () => {
    const before = reads;
    reads = log.reads;
    await Bun.sleep(50);
    return before === log.reads;
  });
  expect(reads).toBeLessThan(1_000);
  socket.resume();
  await until(() => log.reads > reads + 100);
  socket.destroy();
  await until(() => streams.count === 0);
});

test("a slow reader does not hold up another one", async () => {
  const { open, publish } = start(10);
  const [slow, fast] = [(await open()).getReader(), (await open()).getReader()];
  await slow.read();
  await fast.read();
  publish(1_000);
  for (let ids = 0; ids < 1_000; ) ids += text((await fast.read()).value).match(/^id: /gm)?.length ?? 0;
  await slow.cancel();
  expect(streams.count).toBe(1);
});

test("other work runs between the reads of a long log of which a stream has nothing", async () => {
  const { log, open, publish } = start(1, { isShown: false });
  const reader = (await open()).getReader();
  await reader.read();
  let turns = 0;
  const turn = () => {
    turns++;
    if (log.reads < 1_000) setImmediate(turn);
  };
  setImmediate(turn);
  void reader.read().catch(() => {});
  publish(1_000);
  await until(() => log.reads >= 1_000);
  expect(turns).toBeGreaterThan(500);
});

test("a tick wakes a bounded number of streams, so that applications with many shards hold up no request", async () => {
  const { log, openShard, wakeAll } = start(1);
  const count = 40;
  for (const id of ["one", "two", "three"]) {
    for (let number = 1; number <= count; number++) {
      const reader = (await openShard(id, { number, count })).getReader();
      await reader.read();
      void reader.read().catch(() => {});
    }
  }
  await until(() => log.reads === 3 * count);
  const perTick: number[] = [];
  wakeAll();
  for (let before = log.reads; before < 6 * count; before = log.reads) {
    await new Promise((resolve) => setImmediate(resolve));
    perTick.push(log.reads - before);
  }
  expect(Math.max(...perTick)).toBe(count);
});

test("silence is broken by comments, and no frame is without data", async () => {
  const { open, publish } = start(10, { heartbeatMs: 5 });
  const reader = (await open()).getReader();
  let all = text((await reader.read()).value);
  for (let i = 0; i < 3; i++) {
    const silence = text((await reader.read()).value);
    expect(silence).toBe(":\n");
    all += silence;
  }
  publish(2);
  while (!all.includes('"webhook-id":"d2"')) all += text((await reader.read()).value);
  const frames = all.split("\n\n").filter((frame) => frame !== "");
  expect(frames).toHaveLength(2);
  for (const frame of frames) expect(frame).toMatch(/^id: \S+\nevent: channel\.followed\ndata: \{/m);
});

test("streams at the same position share their reads", async () => {
  const { log, open, publish } = start(10);
  const readers = await Promise.all(Array.from({ length: 50 }, async (_, i) => (await open(i)).getReader()));
  await Promise.all(readers.map((reader) => reader.read()));
  const waiting = readers.map((reader) => reader.read());
  await until(() => log.reads > 0);
  await new Promise(setImmediate);
  const before = log.reads;
  publish(1);
  const parts = await Promise.all(waiting);
  expect(new Set(parts.map(({ value }) => text(value))).size).toBe(1);
  expect(log.reads).toBe(before + 1);
});

test("a position ahead of the log, as after a restore from a backup, is answered with a gap", async () => {
  const { open, publish } = start(10);
  publish(1);
  const reader = (
    await open(0, cursors.make([99, Date.now(), 0], `stream ${application.id} all`))
  ).getReader();
  expect(text((await reader.read()).value)).toMatch(/^retry: 1000\nid: \S+\nevent: gap\ndata: \{"from":/);
  expect(text((await reader.read()).value)).toContain('"webhook-id":"d1"');
});
