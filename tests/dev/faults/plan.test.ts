import { describe, expect, test } from "bun:test";
import { type ApiFault, faultPlan, type WebhookFault } from "../../../src/dev/faults.ts";

describe("the plan", () => {
  const first = (seed: number, count: number) => {
    const plan = faultPlan(seed);
    return Array.from({ length: count }, () => [plan.api(), plan.stream(), plan.webhook()]);
  };

  test("is the same for the same seed, and differs between seeds", () => {
    expect(first(42, 300)).toEqual(first(42, 300));
    for (const other of [0, 41, 43, 999_999]) expect(first(other, 300)).not.toEqual(first(42, 300));
  });

  test("of one kind does not depend on the number of calls of the others", () => {
    const alone = faultPlan(7);
    const mixed = faultPlan(7);
    const faults = Array.from({ length: 100 }, () => {
      mixed.webhook();
      mixed.stream();
      return [alone.api(), mixed.api()] as const;
    });
    for (const [one, other] of faults) expect(other).toEqual(one);
  });

  test("contains every kind of fault, and passes on most requests", () => {
    const drawn = Array.from({ length: 20 }, (_, seed) => first(seed, 100)).flat();
    const kinds = (index: number) =>
      new Set(drawn.map((row) => (row[index] as ApiFault | WebhookFault | null)?.kind ?? "none"));
    expect(kinds(0)).toEqual(new Set(["none", "busy", "slow", "revoked"]));
    expect(kinds(2)).toEqual(new Set(["none", "late", "twice", "overtaken"]));
    const good = drawn.filter(([api]) => api === null).length / drawn.length;
    expect(good).toBeGreaterThan(0.7);
    expect(good).toBeLessThan(0.85);
    for (const [, cutAfterMs, webhook] of drawn) {
      if (typeof cutAfterMs === "number") expect(cutAfterMs).toBeLessThanOrEqual(30_000);
      // The platform's timeout is 15 seconds.
      expect((webhook as WebhookFault | null)?.ms ?? 0).toBeLessThanOrEqual(8_000);
    }
  });
});
