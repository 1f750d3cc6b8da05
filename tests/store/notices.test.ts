import { beforeEach, describe, expect, test } from "bun:test";
import { noticesOf } from "../../src/delivery/notices.ts";
import { newEndpoint } from "../../src/domain/endpoints.ts";
import type { Store } from "../../src/domain/store.ts";
import { ownStore, storedApplication } from "../support/store.ts";

const recipient = {
  delivery: "webhook",
  webhook_url: "https://bot.example/",
  webhook_secret: "",
  webhook_headers: [],
  retired_webhook_secrets: [],
  webhook_concurrency: null,
  endpoint_generation: 0,
} as const;
const failing = (application_id: string, at: number) => ({
  ...newEndpoint(application_id),
  failing_since: at,
});
const about = (application_id: string, at: number) =>
  noticesOf(true).ofEndpoint("endpoint.failing", failing(application_id, at), recipient, at);
const ofServer = (at: number, isSent = true) =>
  noticesOf(isSent).ofServer("backup.failed", { summary: "It failed.", advice: null }, at);

describe("notices", () => {
  let store: Store;
  beforeEach(async () => {
    ({ store } = await ownStore());
  });
  const kept = async (applicationId: string | null = null) => store.notices.page(applicationId, null, 200);
  const times = async (applicationId: string | null = null) =>
    (await kept(applicationId)).map(({ created_at }) => created_at);

  test("are stored once, with the state of sending", async () => {
    const notice = ofServer(5);
    await store.notices.put(notice);
    const sending = { status: "failed", attempts: 10, next_attempt_at: null, error: "no" } as const;
    await store.notices.put({ ...notice, sending });
    const [only, ...others] = await kept();
    expect(others).toEqual([]);
    expect(only).toEqual({ ...notice, sending, seq: only?.seq ?? 0 });
  });

  test("of an application: the newest hundred are kept, removed with it, and not stored for an unknown one", async () => {
    await store.notices.put(about("01KATHZX5M9S3E6R8B2D4F7G1H", 1));
    expect(await kept()).toEqual([]);
    const [id, other] = [await storedApplication(store), await storedApplication(store)];
    for (let at = 1; at <= 103; at++) await store.notices.put(about(id, at));
    await store.notices.put(about(other, 500));
    expect(await times(id)).toEqual(Array.from({ length: 100 }, (_, i) => 103 - i));
    const all = await kept(id);
    const some = await store.notices.following(id, all[3]?.seq ?? 0, 2);
    expect(some.map(({ created_at }) => created_at)).toEqual([101, 102]);
    expect(await store.notices.lastBefore(103)).toBe(all[1]?.seq ?? 0);
    expect(await store.notices.lastBefore(1)).toBe(0);
    const below = await store.notices.page(null, all[0]?.seq ?? 0, 1);
    expect(below.map(({ created_at }) => created_at)).toEqual([102]);
    await store.applications.remove(id, 600);
    expect(await times()).toEqual([500]);
  });

  test("are claimed by one process, and again when its lease has ended", async () => {
    const [first, second] = [ofServer(10), ofServer(20)];
    for (const notice of [first, second, ofServer(10, false)]) await store.notices.put(notice);
    const ids = async (now: number, until: number) =>
      (await store.notices.claim(now, until, 10)).map(({ id }) => id);
    expect(await ids(9, 30)).toEqual([]);
    expect(await ids(20, 30)).toEqual([first.id, second.id]);
    expect(await ids(29, 40)).toEqual([]);
    await store.notices.put({
      ...first,
      sending: { ...first.sending, status: "delivered", next_attempt_at: null },
    });
    expect(await ids(30, 40)).toEqual([second.id]);
  });

  test("older than a time are removed", async () => {
    for (const at of [1, 2, 3]) await store.notices.put(ofServer(at));
    expect(await store.notices.prune(3)).toBe(true);
    expect(await times()).toEqual([3]);
  });

  test("come with the state that they are about, once, and not with an older state or one of a former endpoint", async () => {
    const id = await storedApplication(store);
    const notice = about(id, 7);
    await store.deliveries.pending();
    const state = { ...failing(id, 7), revision: 2 };
    await store.deliveries.record([], [state], [notice]);
    await store.deliveries.record([], [state], [notice]);
    await store.deliveries.record([], [{ ...failing(id, 6), revision: 1 }], [about(id, 6)]);
    expect(await store.endpoints.find(id)).toEqual(state);
    expect((await kept(id)).map(({ id }) => id)).toEqual([notice.id]);
    await store.endpoints.enable(id, 8);
    await store.deliveries.record([], [{ ...failing(id, 9), revision: 9 }], [about(id, 9)]);
    expect(await times(id)).toEqual([7]);
  });
});
