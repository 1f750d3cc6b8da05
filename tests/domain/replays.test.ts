import { describe, expect, test } from "bun:test";
import { checkBeside, checkRange, type NewReplay, overlap, type Replay } from "../../src/domain/replays.ts";
import { day } from "../../src/domain/time.ts";

const replay = (more: Partial<Replay> = {}): Replay => ({
  id: "one",
  application_id: "app",
  broadcaster_user_id: null,
  subscription_id: null,
  of_broadcaster: null,
  status: null,
  type: null,
  from: 100,
  to: 200,
  dry_run: false,
  created_at: 0,
  state: "running",
  progress: 0,
  matched: 0,
  queued: 0,
  skipped: { body_not_kept: 0, subscription_deleted: 0, attempts_used_up: 0 },
  finished_at: null,
  ...more,
});

describe("a range", () => {
  test.each<[number, number, string | null]>([
    [0, 31 * day, null],
    [5, 6, null],
    [5, 5, "must be later than from"],
    [6, 5, "must be later than from"],
    [0, 31 * day + 1, "must be at most 31 days after from"],
  ])("from %i to %i", (from, to, message) => {
    const check = () => checkRange({ from, to });
    if (message === null) expect(check).not.toThrow();
    else expect(check).toThrow(`to ${message}`);
  });
});

describe("two replays could send the same delivery", () => {
  test.each<[Partial<NewReplay>, Partial<NewReplay>, boolean]>([
    [{}, {}, true],
    [{}, { from: 199, to: 300 }, true],
    [{}, { from: 200, to: 300 }, false],
    [{}, { from: 0, to: 100 }, false],
    [{}, { from: 120, to: 130 }, true],
    [{ subscription_id: "a" }, {}, true],
    [{ subscription_id: "a" }, { subscription_id: "a" }, true],
    [{ subscription_id: "a" }, { subscription_id: "b" }, false],
    [{ type: "x" }, { type: "y" }, false],
    [{ type: "x" }, { subscription_id: "a" }, true],
    // A failed delivery may have been delivered before the other replay reaches it.
    [{ status: "failed" }, { status: "delivered" }, true],
  ])("%j and %j: %p", (a, b, expected) => {
    expect(overlap(replay(a), replay(b))).toBe(expected);
    expect(overlap(replay(b), replay(a))).toBe(expected);
  });
});

describe("a replay beside running ones", () => {
  const elsewhere = (id: string, from: number) => replay({ id, from, to: from + 1 });
  test.each<[string, Partial<NewReplay>, Replay[], string | null]>([
    ["nothing", {}, [], null],
    ["another range", {}, [elsewhere("two", 500)], null],
    ["the same", {}, [replay({ id: "two" })], "The replay two is running"],
    ["a dry run", {}, [replay({ id: "two", dry_run: true })], null],
    ["the same, as a dry run", { dry_run: true }, [replay({ id: "two" })], null],
    ["three", {}, [1, 2, 3].map((n) => elsewhere(`${n}`, 500 * n)), "3 replays of this application"],
  ])("%s", (_, more, running, message) => {
    const check = () => checkBeside(replay(more), running);
    if (message === null) expect(check).not.toThrow();
    else expect(check).toThrow(message);
  });
});
