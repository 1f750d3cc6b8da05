import { expect, test } from "bun:test";
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
