import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  type Decision,
  isOverloaded,
  longestWaitMs,
  maxScheduledAttempts,
  nextStep,
  retrySchedule,
} from "../../../src/delivery/judge.ts";
import {
  maxRetryAfterMs,
  type OutcomeClass,
  outcomeClasses,
  parseRetryAfter,
} from "../../../src/delivery/send/result.ts";
import { holds } from "../../support/property.ts";

type Outcome = Parameters<typeof nextStep>[0]["outcome"];

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
      expect(decide(status(500), { attempt: index + 1 })).toEqual({ kind: "retry", at: now + wait });
    }
    const givenUp: Decision = { kind: "failed" };
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

  test("every outcome but ok and canceled is retried by the schedule", () => {
    const classes = outcomeClasses.filter((name) => !["ok", "status", "canceled"].includes(name));
    for (const kind of classes) {
      expect(decide(failure(kind), { attempt: 2 })).toEqual({ kind: "retry", at: now + 300_000 });
    }
  });
});

describe("a manual retry", () => {
  test("leaves the schedule where it was", () => {
    for (const attempt of [0, 1, 5, 9]) {
      expect(decide(status(500), { attempt, resumeAt: now + 600_000 })).toMatchObject({ at: now + 600_000 });
    }
  });

  test("is followed by the schedule's next attempt, after its shortest wait and Retry-After", () => {
    expect(decide(status(500), { attempt: 4, resumeAt: now - 1 })).toMatchObject({ at: now + 5_000 });
    expect(decide(status(429, 60_000), { attempt: 4, resumeAt: now, random: 0 })).toMatchObject({
      at: now + 60_000,
    });
  });

  test("is followed by the schedule's next attempt within its longest wait, also when a clock that was ahead set a later time", () => {
    for (const wait of [...retrySchedule, maxRetryAfterMs]) expect(wait * 1.2).toBeLessThan(longestWaitMs);
    const resumeAt = now + 365 * 24 * 3_600_000;
    expect(decide(status(500), { attempt: 4, resumeAt })).toMatchObject({ at: now + longestWaitMs });
  });

  test("has failed when the schedule has ended", () => {
    expect(decide(status(500), { attempt: 10, resumeAt: now })).toMatchObject({ kind: "failed" });
  });

  test("can be delivered, fail or expire like any other", () => {
    expect(decide(status(204), { resumeAt: now })).toEqual({ kind: "delivered" });
    expect(decide(status(410), { resumeAt: now })).toMatchObject({ kind: "failed" });
    expect(decide(status(500), { resumeAt: now + 9, expiresAt: now })).toMatchObject({ kind: "expired" });
  });
});

describe("the status of the answer", () => {
  test.each([200, 201, 204, 299])("%p is delivered, on any attempt and however late", (code) => {
    for (const attempt of [1, 10, 99]) {
      expect(decide(status(code, 60_000), { attempt, expiresAt: now - 1 })).toEqual({ kind: "delivered" });
    }
  });

  test.each([429, 502, 503, 504])("%p slows the endpoint down, also when the delivery has failed", (code) => {
    expect(isOverloaded(code)).toBe(true);
    expect(decide(status(code))).toEqual({ kind: "retry", at: now + 5_000 });
    expect(decide(status(code), { attempt: 10 })).toEqual({ kind: "failed" });
    expect(decide(status(code), { expiresAt: now })).toEqual({ kind: "expired" });
  });

  test.each([301, 307, 400, 401, 404, 408, 418, 500, 501, 505])("%p is retried and slows nothing", (code) => {
    expect(isOverloaded(code)).toBe(false);
    expect(decide(status(code))).toEqual({ kind: "retry", at: now + 5_000 });
  });

  test("410 fails at once", () => {
    for (const attempt of [1, 10]) {
      expect(decide(status(410, 60_000), { attempt, expiresAt: now - 1 })).toEqual({ kind: "failed" });
    }
  });
});

describe("time to live", () => {
  test("a message that would be sent after its time has expired", () => {
    expect(decide(status(500), { expiresAt: now + 5_000 })).toMatchObject({ kind: "retry", at: now + 5_000 });
    expect(decide(status(500), { expiresAt: now + 4_999 })).toEqual({ kind: "expired" });
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
  test("never shortens the schedule's wait, is honoured up to 24 hours, and by a fifth more at most", () => {
    const failures = fc.integer({ min: 300, max: 599 }).filter((code) => code !== 410);
    const waits = fc.option(fc.oneof(fc.nat({ max: 2 * maxRetryAfterMs }), fc.constant(1e15)));
    const randoms = fc.double({ min: 0, max: 1, noNaN: true });
    holds(
      fc.property(
        fc.integer({ min: 1, max: 9 }),
        failures,
        waits,
        randoms,
        (attempt, code, asked, random) => {
          const decision = decide(status(code, asked), { attempt, random });
          const scheduled = retrySchedule[attempt - 1] ?? 0;
          const honoured = Math.min(asked ?? 0, maxRetryAfterMs);
          const wait = decision.kind === "retry" ? decision.at - now : Number.NaN;
          expect(wait).toBeGreaterThanOrEqual(Math.max(Math.floor(scheduled * 0.8), honoured));
          const most = Math.max(scheduled * 1.2, Math.min(honoured * 1.2, maxRetryAfterMs));
          expect(wait).toBeLessThanOrEqual(Math.ceil(most));
          const isLate = decide(status(code, asked), { attempt, random, expiresAt: now + wait - 1 });
          expect(isLate.kind).toBe("expired");
        },
      ),
      { numRuns: 300 },
    );
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

  test("any date in each of the three forms, and any number, is read as a wait between 0 and a day", () => {
    // The years that two digits can name.
    const dates = fc
      .date({ min: new Date("1950-01-01"), max: new Date("2049-12-31"), noInvalidDate: true })
      .map((date) => Math.floor(date.getTime() / 1_000) * 1_000);
    const near = fc.integer({ min: -90_000, max: 90_000 }).map((seconds) => now + seconds * 1_000);
    const clamped = (wait: number) => Math.min(Math.max(wait, 0), maxRetryAfterMs);
    holds(
      fc.property(fc.oneof(dates, near), (at) => {
        for (const text of httpDates(at))
          expect([text, parseRetryAfter(text, now)]).toEqual([text, clamped(at - now)]);
      }),
    );
    holds(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 400n }), (seconds) => {
        expect(parseRetryAfter(`${seconds}`, now)).toBe(clamped(Number(seconds) * 1_000));
      }),
    );
    holds(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const wait = parseRetryAfter(text, now);
        expect(wait === null || (wait >= 0 && wait <= maxRetryAfterMs)).toBe(true);
      }),
    );
  });
});

/** A moment in the forms of RFC 9110, section 5.6.7. */
function httpDates(ms: number): string[] {
  const fixed = new Date(ms).toUTCString();
  const [weekday = "", day = "", month = "", year = "", time = ""] = fixed.split(" ");
  const name = new Intl.DateTimeFormat("en-US", { weekday: "long", timeZone: "UTC" }).format(ms);
  return [
    fixed,
    `${name}, ${day}-${month}-${year.slice(2)} ${time} GMT`,
    `${weekday.slice(0, 3)} ${month} ${String(Number(day)).padStart(2)} ${time} ${year}`,
  ];
}
