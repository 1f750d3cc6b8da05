import { beforeEach, describe, expect, test } from "bun:test";
import { Cursors } from "../../src/api/http/cursors.ts";
import {
  idOf,
  type LastId,
  type StreamPosition,
  StreamReader,
  type StreamStart,
} from "../../src/api/stream/streams.ts";
import { noticesOf } from "../../src/delivery/notices.ts";
import { newSigningKey, readSigningKey } from "../../src/delivery/signature.ts";
import { newEndpoint } from "../../src/domain/endpoints.ts";
import type { Store } from "../../src/domain/store.ts";
import { day, isoTime, second } from "../../src/domain/time.ts";
import { createLog } from "../../src/runtime/log.ts";
import { Clock } from "../support/server.ts";
import { emptyStore, newEvent, subscriber } from "../support/store.ts";

/*
 * With --max-data-size what has ended goes before its time, and so before a reader that is behind has got it.
 */

const cursors = new Cursors("secret");
const signingKey = readSigningKey(newSigningKey());
const inHeader = (text: string): LastId => ({ in: "header", field: "Last-Event-ID", text });

describe("deliveries removed for --max-data-size are a gap of the stream", () => {
  const clock = new Clock();
  const start = clock.ms;
  let store: Store;
  let reader: StreamReader;
  let applicationId: string;
  const scope = () => ({ applicationId, userId: null, shard: null });
  beforeEach(async () => {
    ({ store } = emptyStore());
    clock.ms = start;
    const log = createLog("off");
    const keptMs = 7 * day;
    const keys = { cursors, signingKey: () => signingKey };
    reader = new StreamReader({ store, ...keys, log, now: clock.now, keptMs, isTrimmed: true });
    applicationId = await subscriber(store, { delivery: "stream" });
  });

  async function publish(id: string): Promise<void> {
    await store.events.publish(newEvent(id, { published_at: clock.ms }), () => false);
    clock.advance(second);
  }
  async function trim(): Promise<void> {
    while (!(await store.retention.trim(1))) {}
    await store.retention.trim(null);
  }
  /** What a reader gets that begins so: the events by their ids, and the ranges of gaps. */
  async function got({ position, frames }: { position: StreamPosition; frames: string }): Promise<string[]> {
    const application = await store.applications.find(applicationId);
    if (!application) throw new Error("it is gone");
    reader.forget();
    const bytes = reader.signed(await reader.read(scope(), position), application);
    const text = frames + new TextDecoder().decode(bytes ?? new Uint8Array());
    return [...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => {
      const { headers, from, to } = JSON.parse(data);
      return headers ? headers["onair-event-id"] : `${from} to ${to}`;
    });
  }
  const begin = (more: Partial<StreamStart>) => reader.start(scope(), { lastId: null, after: null, ...more });
  const idOfFirst = () => inHeader(idOf(cursors, { seq: 1, at: start, notice: 0 }, scope()));

  test.each<[string, () => Promise<{ position: StreamPosition; frames: string }>]>([
    ["was connected and had read nothing", () => begin({})],
    ["goes on with Last-Event-ID", () => begin({ lastId: idOfFirst() })],
    ["begins with `after`", () => begin({ after: start })],
  ])("to one that %s", async (name, beginning) => {
    const before = name.startsWith("was connected") ? await beginning() : null;
    for (const id of ["first", "removed", "removed-too"]) await publish(id);
    await trim();
    await publish("kept");
    const gap = `${isoTime(start)} to ${isoTime(start + 3 * second)}`;
    expect(await got(before ?? (await beginning()))).toEqual([gap, "kept"]);
  });

  test("and not to one that begins long ago, where nothing of the application was removed", async () => {
    await publish("first");
    expect(await got(await begin({ after: start - 30 * day }))).toEqual(["first"]);
    clock.advance(30 * day);
    expect(await got(await begin({ after: start - day }))).toEqual(["first"]);
    await publish("second");
    await trim();
    const gap = `${isoTime(start - day)} to ${isoTime(clock.ms - 7 * day)}`;
    expect((await got(await begin({ after: start - day })))[0]).toBe(gap);
  });

  test("and not to one that had got all of it", async () => {
    await publish("first");
    const { position } = await begin({ lastId: idOfFirst() });
    await trim();
    await publish("kept");
    expect(await got({ position, frames: "" })).toEqual(["kept"]);
    expect(await got(await begin({ lastId: idOfFirst() }))).toEqual(["kept"]);
  });
});

test("a reader that continues after a notice gets no gap, although another replica published with an earlier clock", async () => {
  const clock = new Clock();
  const { store } = emptyStore();
  const applicationId = await subscriber(store, { delivery: "stream" });
  const keys = { cursors, signingKey: () => signingKey };
  const options = { log: createLog("off"), now: clock.now, keptMs: 7 * day, isTrimmed: false };
  const reader = new StreamReader({ store, ...keys, ...options });
  const scope = { applicationId, userId: null, shard: null };
  const { position } = await reader.start(scope, { lastId: null, after: null });
  await store.events.publish(newEvent("ahead", { published_at: clock.ms + second }), () => false);
  const application = await store.applications.find(applicationId);
  if (!application) throw new Error("it is gone");
  const failing = newEndpoint(applicationId);
  await store.notices.put(noticesOf(true).ofEndpoint("endpoint.failing", failing, application, clock.ms));
  const frames = new TextDecoder().decode(
    reader.signed(await reader.read(scope, position), application) ?? undefined,
  );
  const [, lastId = ""] = /^id: (.*)\nevent: endpoint.failing$/m.exec(frames) ?? [];
  const again = await reader.start(scope, { lastId: inHeader(lastId), after: null });
  expect(again.frames).not.toContain("gap");
  reader.forget();
  expect((await reader.read(scope, again.position)).deliveries).toEqual([]);
});
