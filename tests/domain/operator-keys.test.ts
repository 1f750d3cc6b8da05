import { expect, test } from "bun:test";
import { idTime, ulidPattern, ulidSource } from "../../src/domain/ids.ts";
import { hasOperator, needsFirstKey, newLastUse, newOperatorKey } from "../../src/domain/operator-keys.ts";
import { hour } from "../../src/domain/time.ts";

const now = Date.parse("2026-01-14T16:08:06.123Z");
const made = (of: Partial<Parameters<typeof newOperatorKey>[0]> = {}) =>
  newOperatorKey({ name: "one", role: "operator", source: "created", now, ...of }).key;

test("an operator key is valid from creation to expiry, and a generated one once it was shown", () => {
  expect(hasOperator([made()], now)).toBe(true);
  expect(hasOperator([made({ role: "publisher" }), made({ role: "reader" })], now)).toBe(false);
  expect(hasOperator([made({ expiresAt: now + 1 })], now)).toBe(true);
  expect(hasOperator([made({ expiresAt: now })], now)).toBe(false);
  const generated = made({ source: "generated" });
  expect(hasOperator([generated], now)).toBe(false);
  expect(hasOperator([{ ...generated, shown_at: now }], now)).toBe(true);
});

test("a start generates a key if no key was ever shown", () => {
  const generated = made({ source: "generated" });
  expect(needsFirstKey([], false)).toBe(true);
  expect(needsFirstKey([generated, made({ role: "reader" })], false)).toBe(true);
  expect(needsFirstKey([{ ...generated, shown_at: now }], false)).toBe(false);
  expect(needsFirstKey([made({ expiresAt: now - 1 })], false)).toBe(false);
  expect(needsFirstKey([], true)).toBe(false);
});

test("the last use is recorded once an hour, rounded down to the hour", () => {
  const at = newLastUse(null, now) ?? 0;
  expect(new Date(at).toISOString()).toBe("2026-01-14T16:00:00.000Z");
  expect(newLastUse(at, at + hour - 1)).toBe(null);
  expect(newLastUse(at, at + hour)).toBe(at + hour);
});

test("only the hash and the prefix of a key are stored", () => {
  const { secret, key } = newOperatorKey({ name: "one", role: "reader", source: "created", now });
  expect(secret.startsWith(key.prefix)).toBe(true);
  expect(key.prefix.length).toBe(16);
  expect(JSON.stringify(key)).not.toContain(secret.slice(16));
});

test("ULIDs contain their time and ascend, within a millisecond and when the clock steps back", () => {
  let ms = Date.parse("2026-01-14T16:08:06.123Z");
  const next = ulidSource(() => ms);
  const ids = [next(), next()];
  expect(ids[0]).toStartWith("01KEYM79QB"); // the time part, as the `ulid` package encodes it
  expect(ids.map(idTime)).toEqual([ms, ms]);
  for (const step of [0, 1, -3_600_000, 0, 3_600_005]) {
    ms += step;
    ids.push(next(), next());
  }
  expect(ids).toEqual(ids.toSorted());
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids) expect(id).toMatch(new RegExp(ulidPattern));
});

test("100,000 of them within one millisecond are all different and ascend", () => {
  const next = ulidSource(() => 1);
  let last = "";
  for (let i = 0; i < 100_000; i++) {
    const id = next();
    if (id <= last) throw new Error(`${id} after ${last}`);
    last = id;
  }
});
