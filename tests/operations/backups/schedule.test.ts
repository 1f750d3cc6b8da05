import { beforeEach, describe, expect, test } from "bun:test";
import { derivedId } from "../../../src/domain/ids.ts";
import { day, hour, minute, second } from "../../../src/domain/time.ts";
import type { KeptBackup } from "../../../src/operations/backups/files.ts";
import { nameOf } from "../../../src/operations/backups/files.ts";
import { outdated } from "../../../src/operations/backups/kept-list.ts";
import { BackupSchedule, BackupWatch } from "../../../src/operations/backups/schedule.ts";
import { Clock } from "../../support/server.ts";

const noon = Date.parse("2026-01-14T12:00:00.000Z");
const shown = (ms: number) => new Date(ms).toISOString().slice(0, 16);

/** A server whose schedule is checked every ten seconds. Backups take no time. */
class Server {
  readonly wall = new Clock(noon);
  readonly monotonic = new Clock(0);
  /** The times of its backups by its clock, ascending. */
  readonly made: number[] = [];
  /** Their real times. */
  readonly real: number[] = [];
  readonly notices: string[] = [];
  isFailing = false;
  attempts = 0;
  schedule: BackupSchedule;
  watch: BackupWatch;

  constructor(readonly everyMs: number) {
    [this.schedule, this.watch] = this.#started();
  }

  #started(): [BackupSchedule, BackupWatch] {
    const { everyMs, wall, monotonic } = this;
    const schedule = new BackupSchedule({ everyMs, now: wall.now, monotonic: monotonic.now });
    const announce = (type: string) => void this.notices.push(type);
    return [schedule, new BackupWatch({ schedule, monotonic: monotonic.now, announce })];
  }

  restart(): void {
    [this.schedule, this.watch] = this.#started();
  }

  get newestAt(): number | null {
    return this.made.at(-1) ?? null;
  }

  look(): void {
    this.watch.check(this.newestAt);
    if (!this.schedule.isDue(this.newestAt)) return;
    this.attempts++;
    if (this.isFailing) {
      this.schedule.failed();
      this.watch.failed("The disk is full.", false);
      return;
    }
    // Ids ascend: never below the newest.
    this.made.push(Math.max(this.wall.ms, (this.newestAt ?? 0) + 1));
    this.real.push(this.monotonic.ms);
    this.schedule.made();
    this.watch.made();
  }

  /** Advances the time, with a check every ten seconds. */
  run(ms: number, stepMs = 10 * second): void {
    for (let passed = 0; passed < ms; passed += stepMs) {
      this.look();
      this.wall.advance(stepMs);
      this.monotonic.advance(stepMs);
    }
  }
}

describe("a schedule of 24 hours", () => {
  let server: Server;
  beforeEach(() => {
    server = new Server(day);
  });

  test("starts the first backup at once, and one at every midnight in UTC", () => {
    server.run(3 * day);
    expect(server.made.map(shown)).toEqual([
      "2026-01-14T12:00",
      "2026-01-15T00:00",
      "2026-01-16T00:00",
      "2026-01-17T00:00",
    ]);
    expect(server.notices).toEqual([]);
  });

  test("is neither shifted nor repeated by restarts, and catches up on a missed backup", () => {
    for (let n = 0; n < 60; n++) {
      server.run(hour);
      server.restart();
    }
    expect(server.made.map(shown)).toEqual(
      ["2026-01-14T12:00", "2026-01-15T00:00", "2026-01-16T00:00", "2026-01-17T00:00"].slice(
        0,
        server.made.length,
      ),
    );
    expect(server.made).toHaveLength(3);
    server.wall.advance(5 * day + hour);
    server.monotonic.advance(5 * day + hour);
    server.restart();
    server.look();
    expect(server.made).toHaveLength(4);
  });

  test("counts a manual backup", () => {
    server.made.push(server.wall.ms - hour);
    server.look();
    expect(server.attempts).toBe(0);
  });

  test.each([
    ["a year back", -365 * day],
    ["a year ahead", 365 * day],
    ["a day back", -day],
    ["a day ahead", day],
    ["an hour back", -hour],
    ["an hour ahead", hour],
  ])("goes on when the clock is set %s: no pause above a day, none below half", (_, ms) => {
    server.run(day + 3 * hour);
    server.wall.advance(ms);
    server.run(5 * day);
    server.wall.advance(-ms);
    server.run(5 * day);
    const pauses = server.real.slice(1).map((at, n) => at - (server.real[n] ?? 0));
    expect(Math.max(...pauses)).toBeLessThanOrEqual(day + minute);
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(day / 2);
    expect(server.notices).toEqual([]);
  });

  test.each([
    ["back", -365 * day],
    ["ahead", 365 * day],
  ])("makes no bursts of backups when the clock is repeatedly set %s", (_, ms) => {
    for (let n = 0; n < 100; n++) {
      server.wall.advance(n % 2 === 0 ? ms : -ms);
      server.run(hour, minute);
    }
    expect(server.made.length).toBeGreaterThanOrEqual(4);
    expect(server.made.length).toBeLessThanOrEqual(9);
  });

  test("continues within an hour of a restart when the newest backup is from the future", () => {
    server.made.push(server.wall.ms + 365 * day);
    server.run(50 * minute);
    expect(server.attempts).toBe(0);
    server.run(20 * minute);
    expect(server.attempts).toBe(1);
    server.run(3 * day);
    expect(server.attempts).toBe(4);
  });

  test("retries a failed backup after 1, 2, 4, 8, 16, 32 and 60 minutes, and reports it once a day", () => {
    server.isFailing = true;
    server.run(63 * minute + 30 * second);
    expect(server.attempts).toBe(7);
    server.run(day);
    expect(server.attempts).toBeLessThanOrEqual(7 + 25);
    expect(server.notices).toEqual(["backup.failed", "backup.failed"]);
    server.isFailing = false;
    server.run(2 * hour);
    expect(server.made).toHaveLength(1);
    expect(server.notices.at(-1)).toBe("backup.recovered");
    server.run(3 * day);
    expect(server.notices).toHaveLength(3);
  });

  test("warns once a day when the newest backup is older than two periods", () => {
    server.run(hour);
    server.isFailing = true;
    server.run(2 * day - 2 * hour);
    expect(server.notices).not.toContain("backup.overdue");
    server.run(2 * day);
    expect(server.notices.filter((type) => type === "backup.overdue")).toHaveLength(2);
  });
});

test("an hourly schedule runs at the full hour, and one of five minutes at every fifth minute", () => {
  const hourly = new Server(hour);
  hourly.wall.advance(17 * minute);
  hourly.run(3 * hour);
  expect(hourly.made.map(shown).slice(1)).toEqual([
    "2026-01-14T13:00",
    "2026-01-14T14:00",
    "2026-01-14T15:00",
  ]);
  const often = new Server(5 * minute);
  often.run(hour);
  expect(often.made).toHaveLength(12);
});

describe("backups to delete:", () => {
  const kept = (ageDays: number): KeptBackup => {
    const id = derivedId(noon - ageDays * day, Buffer.alloc(10));
    return {
      id,
      name: nameOf(id, "0".repeat(64), false),
      sha256: "",
      isEncrypted: false,
      size: 1,
      keptAt: 0,
    };
  };
  const all = [0, 1, 2, 3, 10, 40].map(kept);
  const ages = (keep: number, keepDays: number | null, now = noon, made = kept(0).id) =>
    outdated(all, { keep, keepDays, now, made }).map(({ id }) => all.findIndex((one) => one.id === id));

  test.each<[string, number[], number[]]>([
    ["those above the number", ages(4, null), [4, 5]],
    ["all but the new one", ages(1, null), [1, 2, 3, 4, 5]],
    ["those that are too old", ages(100, 7), [4, 5]],
    ["what either of both says", ages(5, 30), [5]],
    ["none", ages(100, 365), []],
    [
      "by age, never one of the newest three, however far the clock is ahead",
      ages(100, 7, noon + 9e11),
      [3, 4, 5],
    ],
    [
      "never the one just made, even if it is the oldest by its id",
      ages(2, null, noon, kept(40).id),
      [1, 2, 3, 4],
    ],
  ])("%s", (_, found, expected) => {
    expect(found).toEqual(expected);
  });
});
