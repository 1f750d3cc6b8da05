import { describe, expect, test } from "bun:test";
import { maxOperatorSessions, newOperatorKey } from "../../src/domain/operator-keys.ts";
import { ownStore } from "../support/store.ts";

const hash = (n: number) =>
  new Uint8Array(32)
    .fill(7)
    .with(0, n % 256)
    .with(1, n >> 8);
const session = (n: number, expires_at: number, key_id = "a") => ({ hash: hash(n), key_id, expires_at });

describe("sessions of operators", () => {
  test("are there until they end or expire", async () => {
    const { store, reopen } = await ownStore();
    await store.operatorKeys.beginSession(session(1, 1_000), 0);
    await store.operatorKeys.beginSession(session(2, 1_000), 0);
    await store.operatorKeys.endSession(hash(1));
    const { operatorKeys } = await reopen();
    expect(await operatorKeys.hasSession(hash(1), 0)).toBe(false);
    expect(await operatorKeys.hasSession(hash(2), 999)).toBe(true);
    expect(await operatorKeys.hasSession(hash(2), 1_000)).toBe(false);
    expect(await operatorKeys.hasSession(hash(3), 0)).toBe(false);
  });

  test("of one key are bounded: expired ones are removed first, then the next to expire; those of other keys stay", async () => {
    const { store } = await ownStore();
    const { operatorKeys } = store;
    await operatorKeys.beginSession(session(0, 5), 0);
    const other = maxOperatorSessions + 2;
    await operatorKeys.beginSession(session(other, 500, "b"), 0);
    const numbers = Array.from({ length: maxOperatorSessions }, (_, i) => i + 1);
    await Promise.all(numbers.map((n) => operatorKeys.beginSession(session(n, 1_000 + n), 10)));
    // The expired session was removed, also for a clock that is behind.
    expect(await operatorKeys.hasSession(hash(0), 0)).toBe(false);
    expect(await operatorKeys.hasSession(hash(1), 10)).toBe(true);
    await operatorKeys.beginSession(session(maxOperatorSessions + 1, 5_000), 10);
    const open = [1, 2, maxOperatorSessions + 1, other].map((n) => operatorKeys.hasSession(hash(n), 10));
    expect(await Promise.all(open)).toEqual([false, true, true, true]);
  });

  test("are removed with their key", async () => {
    const { store } = await ownStore();
    const { operatorKeys } = store;
    const { key } = newOperatorKey({ name: "Ada", role: "reader", source: "created", now: 0 });
    await operatorKeys.create(key);
    await operatorKeys.beginSession(session(1, 1_000, key.id), 0);
    await operatorKeys.beginSession(session(2, 1_000), 0);
    await operatorKeys.revoke(key.id, 0, true);
    const open = [1, 2].map((n) => operatorKeys.hasSession(hash(n), 0));
    expect(await Promise.all(open)).toEqual([false, true]);
  });
});
