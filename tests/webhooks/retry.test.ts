import { describe, expect, test } from "bun:test";
import {
  type Decision,
  maxRetryAfterMs,
  maxScheduledAttempts,
  nextStep,
  type Outcome,
  type OutcomeClass,
  parseRetryAfter,
  retrySchedule,
} from "../../src/webhooks/retry.ts";

const now = Date.UTC(2026, 0, 14, 16, 8, 6);
const middle = 0.5;

function status(code: number, retryAfterMs: number | null = null): Outcome {
  return { class: code >= 200 && code < 300 ? "ok" : "status", status: code, retryAfterMs };
}

function failure(kind: OutcomeClass): Outcome {
  return { class: kind, status: null, retryAfterMs: null };
}

function decide(
  outcome: Outcome,
  given: { attempt?: number; resumeAt?: number; expiresAt?: number | null; random?: number } = {},
): Decision {
  return nextStep({ attempt: 1, resumeAt: null, expiresAt: null, random: middle, now, outcome, ...given });
}

describe("the schedule", () => {
  test("waits 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h, then gives up", () => {
    const waits = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400].map((s) => s * 1_000);
    expect(retrySchedule).toEqual(waits);
    expect(maxScheduledAttempts).toBe(10);
    for (const [index, wait] of waits.entries()) {
      expect(decide(status(500), { attempt: index + 1 })).toEqual({
        kind: "retry",
        at: now + wait,
        slowDownEndpoint: false,
      });
    }
    const givenUp: Decision = { kind: "failed", slowDownEndpoint: false, disableEndpoint: false };
    expect(decide(status(500), { attempt: 10 })).toEqual(givenUp);
    expect(decide(status(500), { attempt: 11 })).toEqual(givenUp);
  });

  test.each([
    [0, 4_000],
    [0.25, 4_500],
    [0.5, 5_000],
    [0.999999, 6_000],
  ])("spreads each wait by 20 % either way: random %p gives %p ms", (random, wait) => {
    expect(decide(failure("refused"), { random })).toMatchObject({ kind: "retry", at: now + wait });
  });

  test("every class but ok and canceled waits its turn", () => {
    const classes: OutcomeClass[] = [
      "dns",
      "blocked",
      "refused",
      "unreachable",
      "tls",
      "proxy",
      "reset",
      "timeout",
      "protocol",
      "too_large",
      "internal",
    ];
    for (const kind of classes) {
      expect(decide(failure(kind), { attempt: 2 })).toEqual({
        kind: "retry",
        at: now + 300_000,
        slowDownEndpoint: false,
      });
    }
  });

  test("a canceled attempt is due at once, even the last", () => {
    const again: Decision = { kind: "retry", at: now, slowDownEndpoint: false };
    expect(decide(failure("canceled"))).toEqual(again);
    expect(decide(failure("canceled"), { attempt: 10 })).toEqual(again);
    expect(decide(failure("canceled"), { expiresAt: now - 1 })).toMatchObject({ kind: "expired" });
  });
});

describe("an attempt that a person asked for", () => {
  test("leaves the schedule where it was", () => {
    for (const attempt of [0, 1, 5, 9]) {
      expect(decide(status(500), { attempt, resumeAt: now + 600_000 })).toMatchObject({ at: now + 600_000 });
    }
  });

  test("is followed by the schedule's no sooner than after its shortest wait, and by what Retry-After asks", () => {
    expect(decide(status(500), { attempt: 4, resumeAt: now - 1 })).toMatchObject({ at: now + 5_000 });
    expect(decide(status(429, 60_000), { attempt: 4, resumeAt: now, random: 0 })).toMatchObject({
      at: now + 60_000,
    });
  });

  test("has failed where the schedule is at its end", () => {
    expect(decide(status(500), { attempt: 10, resumeAt: now })).toMatchObject({ kind: "failed" });
  });

  test("is delivered, gives up and expires as any other", () => {
    expect(decide(status(204), { resumeAt: now })).toEqual({ kind: "delivered" });
    expect(decide(status(410), { resumeAt: now })).toMatchObject({ kind: "failed", disableEndpoint: true });
    expect(decide(status(500), { resumeAt: now + 9, expiresAt: now })).toMatchObject({ kind: "expired" });
  });
});

describe("what the status says", () => {
  test.each([200, 201, 204, 299])("%p is delivered, on any attempt and however late", (code) => {
    for (const attempt of [1, 10, 99]) {
      expect(decide(status(code, 60_000), { attempt, expiresAt: now - 1 })).toEqual({ kind: "delivered" });
    }
  });

  test.each([429, 502, 503, 504])("%p slows the endpoint down, whatever becomes of the message", (code) => {
    expect(decide(status(code))).toMatchObject({ kind: "retry", slowDownEndpoint: true });
    expect(decide(status(code), { attempt: 10 })).toMatchObject({ kind: "failed", slowDownEndpoint: true });
    expect(decide(status(code), { expiresAt: now })).toMatchObject({
      kind: "expired",
      slowDownEndpoint: true,
    });
  });

  test.each([301, 307, 400, 401, 404, 408, 418, 500, 501, 505])("%p is retried and slows nothing", (code) => {
    expect(decide(status(code))).toEqual({ kind: "retry", at: now + 5_000, slowDownEndpoint: false });
  });

  test("410 fails at once and disables the endpoint", () => {
    for (const attempt of [1, 10]) {
      expect(decide(status(410, 60_000), { attempt, expiresAt: now - 1 })).toEqual({
        kind: "failed",
        slowDownEndpoint: false,
        disableEndpoint: true,
      });
    }
  });
});

describe("time to live", () => {
  test("a message that would be sent after its time has expired", () => {
    expect(decide(status(500), { expiresAt: now + 5_000 })).toMatchObject({ kind: "retry", at: now + 5_000 });
    expect(decide(status(500), { expiresAt: now + 4_999 })).toEqual({
      kind: "expired",
      slowDownEndpoint: false,
    });
  });

  test("Retry-After counts", () => {
    expect(decide(status(503, 60_000), { expiresAt: now + 30_000, random: 0 })).toMatchObject({
      kind: "expired",
    });
  });

  test("the schedule's end is a failure, not an expiry", () => {
    expect(decide(status(500), { attempt: 10, expiresAt: now - 1 })).toMatchObject({ kind: "failed" });
  });
});

describe("Retry-After", () => {
  test("lengthens the wait, and is spread only to later", () => {
    expect(decide(status(429, 60_000), { random: 0 })).toMatchObject({ at: now + 60_000 });
    expect(decide(status(429, 60_000), { random: 1 })).toMatchObject({ at: now + 72_000 });
    expect(decide(status(500, 60_000), { random: 0 })).toMatchObject({ at: now + 60_000 });
  });

  test("never shortens the schedule's wait", () => {
    expect(decide(status(503, 0))).toMatchObject({ at: now + 5_000 });
    expect(decide(status(503, 60_000), { attempt: 3 })).toMatchObject({ at: now + 1_800_000 });
  });

  test.each([0, 0.5, 0.999999, 1])("is honoured up to 24 hours and no longer: random %p", (random) => {
    for (const asked of [86_400_000, 1e15]) {
      expect(decide(status(503, asked), { random })).toMatchObject({ at: now + 86_400_000 });
    }
    const { at } = decide(status(503, 80_000_000), { random }) as { at: number };
    expect(at - now).toBeGreaterThanOrEqual(80_000_000);
    expect(at - now).toBeLessThanOrEqual(86_400_000);
  });

  test("does not add an attempt", () => {
    expect(decide(status(503, 60_000), { attempt: 10 })).toMatchObject({ kind: "failed" });
  });

  test.each<[string | null | undefined, number | null]>([
    ["120", 120_000],
    [" 7 ", 7_000],
    ["0", 0],
    ["86400", maxRetryAfterMs],
    ["86401", maxRetryAfterMs],
    ["9".repeat(400), maxRetryAfterMs],
    ["Wed, 14 Jan 2026 16:10:06 GMT", 120_000],
    ["Wednesday, 14-Jan-26 16:10:06 GMT", 120_000],
    ["Wed Jan 14 16:10:06 2026", 120_000],
    ["Mon Jan  5 16:10:06 2026", 0],
    ["Wed, 14 Jan 2026 16:00:00 GMT", 0],
    ["Sunday, 06-Nov-94 08:49:37 GMT", 0],
    ["Fri, 31 Dec 2100 23:59:59 GMT", maxRetryAfterMs],
    [null, null],
    [undefined, null],
    ["", null],
    ["soon", null],
    ["-1", null],
    ["+5", null],
    ["1.5", null],
    ["1e3", null],
    ["0x10", null],
    ["5, 10", null],
    ["2026-01-14T16:10:06Z", null],
    ["Wed, 14 Jan 2026 16:10:06 +0000", null],
    ["Wed, 14 Foo 2026 16:10:06 GMT", null],
  ])("%p reads as %p", (value, wait) => {
    expect(parseRetryAfter(value, now)).toBe(wait);
  });
});
