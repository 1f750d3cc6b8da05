import { beforeEach, describe, expect, test } from "bun:test";
import { maintenance } from "../../src/delivery/maintenance.ts";
import { idempotencyMs } from "../../src/domain/deliveries.ts";
import type { IdempotencyStore } from "../../src/domain/idempotency.ts";
import { hour, minute, second } from "../../src/domain/time.ts";
import { ownStore, storedAt } from "../support/store.ts";
import { until } from "../support/until.ts";
import { settle, VirtualTime } from "../support/virtual-time.ts";

const key = "key-1";
const fingerprint = (body: string) => new Bun.CryptoHasher("sha256").update(body).digest();
const one = fingerprint("one");
const other = fingerprint("other");
const answer = { status: 202, body: "{}" };

describe("a key that was released", () => {
  let keys: IdempotencyStore;
  const begin = (body: Uint8Array, at: number) => keys.begin(key, body, storedAt + at);
  const requestOf = (body: Uint8Array, firstSeenAt = storedAt) => ({ key, fingerprint: body, firstSeenAt });
  beforeEach(async () => {
    keys = (await ownStore()).store.idempotency;
    await begin(one, 0);
  });

  test("has the answer of the same request where that comes after the release", async () => {
    await keys.release(requestOf(one));
    expect(await keys.finish(requestOf(one), answer)).toBe(true);
    await keys.release(requestOf(one));
    expect(await begin(one, second)).toEqual({ firstSeenAt: storedAt, answer });
    await expect(begin(other, second)).rejects.toMatchObject({ code: "conflict" });
  });

  test("begins anew after a while, so that it is remembered for a week", async () => {
    await keys.release(requestOf(one));
    const firstSeenAt = storedAt + hour;
    expect(await begin(one, hour)).toEqual({ firstSeenAt, answer: null });
    await keys.finish(requestOf(one, firstSeenAt), answer);
    expect(await begin(one, hour + idempotencyMs - 1)).toEqual({ firstSeenAt, answer });
    expect(await keys.removeExpired(storedAt + 2 * hour + idempotencyMs)).toBe(1);
  });

  test("is removed with the keys that have expired", async () => {
    await keys.release(requestOf(one));
    expect(await keys.removeExpired(storedAt + idempotencyMs - 1)).toBe(0);
    expect(await keys.removeExpired(storedAt + idempotencyMs)).toBe(1);
  });
});

test("expired keys are removed in steps, so that a week of them is no single statement", async () => {
  const { store } = await ownStore();
  const { idempotency } = store;
  const names = Array.from({ length: 1_001 }, (_, n) => `key-${n}`);
  await Promise.all(names.map((name) => idempotency.begin(name, one, storedAt)));
  const time = new VirtualTime();
  const now = () => storedAt + idempotencyMs;
  const removed: number[] = [];
  const counting = {
    ...idempotency,
    async removeExpired(at: number) {
      removed.push(await idempotency.removeExpired(at));
      return removed.at(-1) ?? 0;
    },
  };
  const settings = {
    retention: { deliveredMs: 0, failedMs: 0, bodiesMs: 0 },
    maxDataBytes: null,
    auditMs: 0,
  };
  const services = maintenance({
    store: { ...store, idempotency: counting },
    ownership: { leads: () => true },
    settings,
    now,
    timers: time.timers,
  });
  const stop = new AbortController();
  const running = services.find(({ name }) => name === "idempotency keys")?.run(stop.signal);
  await until(async () => {
    await time.pass(minute, settle);
    return removed.length === 3;
  });
  expect(removed).toEqual([1_000, 1, 0]);
  stop.abort();
  await running;
});
