import { describe, expect, test } from "bun:test";
import { closeSync, constants, openSync, readFileSync, readSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { seeded } from "../../src/dev/chance.ts";
import { type LineWriter, LogOutput } from "../../src/runtime/log-output.ts";
import { afterTests } from "../support/after-tests.ts";
import { serve } from "../support/process.ts";
import { Clock, testDirectory } from "../support/server.ts";
import { SmallDisk } from "../support/small-disk.ts";

/** A log whose reader is slow, stuck or gone, or whose disk is full, does not affect the server. */

const bytes = (text: string) => Buffer.from(text);

/** A reader that takes one write per call of `take`, or all at once if `isReading`. */
function reader({ isReading = false } = {}) {
  let untaken: { lines: string; taken: () => void; failed: (error: Error) => void }[] = [];
  const one = {
    text: "",
    opened: 0,
    ended: 0,
    isReading,
    get untaken() {
      return untaken.length;
    },
    async take() {
      const [first] = untaken.splice(0, 1);
      one.text += first?.lines ?? "";
      first?.taken();
      await Bun.sleep(0);
    },
    async leave() {
      for (const { failed } of untaken) failed(new Error("EPIPE"));
      untaken = [];
      await Bun.sleep(0);
    },
    open(): LineWriter {
      one.opened++;
      return {
        write(given) {
          const lines = Buffer.from(given).toString();
          if (!one.isReading)
            return new Promise<void>((taken, failed) => untaken.push({ lines, taken, failed }));
          one.text += lines;
          return given.length;
        },
        flush: () => 0,
        end() {
          one.ended++;
          throw new Error("EPIPE");
        },
      };
    },
  };
  return one;
}

const clock = new Clock();
const notice = (lines: number) =>
  `${JSON.stringify({ time: new Date(clock.ms).toISOString(), level: "warn", event: "log_lines_left_out", lines })}\n`;

function output(options: { isReading?: boolean; mostBytes?: number; flushMs?: number } = {}) {
  const to = reader(options);
  return { to, log: new LogOutput({ open: to.open, now: () => clock.ms, ...options }) };
}

test("lines are passed at once to a reader that keeps up", () => {
  const { to, log } = output({ isReading: true });
  log.write(bytes("a\n"));
  log.write(bytes("b\n"));
  expect([to.text, to.opened, log.linesLeftOut]).toEqual(["a\nb\n", 1, 0]);
});

test("a slow reader gets every line, in order and unchanged", async () => {
  const { to, log } = output();
  const random = seeded(3);
  const shared = Buffer.alloc(10);
  let written = "";
  for (let i = 0; i < 200; i++) {
    const line = `line ${i}\n`;
    shared.write(line);
    log.write(shared.subarray(0, line.length));
    shared.fill("x");
    written += line;
    if (random() < 0.4) await to.take();
    // One write at a time, so that all waiting lines are counted here.
    expect(to.untaken).toBeLessThanOrEqual(1);
  }
  while (to.untaken > 0) await to.take();
  expect(to.text).toBe(written);
});

test("the buffer for a stuck reader is bounded; the number of dropped lines is logged when it continues", async () => {
  const { to, log } = output({ mostBytes: 20 });
  for (let i = 0; i < 9; i++) log.write(bytes(`${i} 3456\n.\n`));
  expect(log.linesLeftOut).toBe(2 * 6);
  await to.take();
  await to.take();
  await to.take();
  log.write(bytes("a\n"));
  log.write(bytes("b\n"));
  while (to.untaken > 0) await to.take();
  const kept = [0, 1, 2].map((i) => `${i} 3456\n.\n`).join("");
  expect(to.text.replace(notice(12), "")).toBe(`${kept}a\nb\n`);
  expect(to.text).toContain(notice(12));
  log.write(bytes("c\n"));
  await to.take();
  expect(to.text.endsWith("b\nc\n")).toBe(true);
});

test("lines that were read free their space in the buffer", async () => {
  const { to, log } = output({ mostBytes: 20 });
  for (let round = 0; round < 5; round++) {
    for (let i = 0; i < 3; i++) log.write(bytes("12345678\n"));
    while (to.untaken > 0) await to.take();
  }
  expect([to.text.length, log.linesLeftOut]).toEqual([5 * 3 * 9, 0]);
});

test("a closed reader does not block, and the next one gets the number of dropped lines on a line of its own", async () => {
  const { to, log } = output();
  log.write(bytes("a\nb\n"));
  log.write(bytes("c\n"));
  await to.leave();
  await to.leave();
  expect([to.opened, to.ended, log.linesLeftOut]).toEqual([2, 2, 3]);
  to.isReading = true;
  log.write(bytes("d\n"));
  log.write(bytes("e\n"));
  expect(to.text).toBe(`\n${notice(3)}d\ne\n`);
  expect(to.opened).toBe(3);
});

test("a write that throws does not affect the caller", () => {
  const broken = () => {
    throw new Error("no such descriptor");
  };
  const log = new LogOutput({ open: broken });
  log.write(bytes("a\n"));
  log.write(bytes("b\n"));
  expect(log.linesLeftOut).toBe(2);
});

describe("flush", () => {
  test("waits until everything is written", async () => {
    const { to, log } = output({ flushMs: 60_000 });
    log.write(bytes("a\n"));
    log.write(bytes("b\n"));
    let isFlushed = false;
    const flushed = log.flush().then(() => {
      isFlushed = true;
    });
    await to.take();
    expect(isFlushed).toBe(false);
    await to.take();
    await flushed;
    expect(to.text).toBe("a\nb\n");
  });

  test("does not wait for a stuck reader", async () => {
    const { to, log } = output({ flushMs: 1 });
    log.write(bytes("a\n"));
    await log.flush();
    expect(to.untaken).toBe(1);
  });
});

const disk = SmallDisk.make(2);
if (!disk) console.warn("SKIPPED: a log on a full disk, because no file system can be mounted here");
else afterTests(() => disk.remove());
const directory = testDirectory();

/** A pipe that is not read yet. Both ends are opened, so that neither open blocks. */
function pipe(name: string) {
  const path = join(directory, name);
  Bun.spawnSync(["mkfifo", path]);
  return { path, end: openSync(path, constants.O_RDWR | constants.O_NONBLOCK) };
}

test.skipIf(!disk)("a log on a full disk continues with complete lines once space is free", async () => {
  if (!disk) return;
  const file = join(disk.data, "log");
  writeFileSync(file, "");
  const log = new LogOutput({ open: () => Bun.file(openSync(file, "a")).writer(), now: () => clock.ms });
  const line = `${JSON.stringify({ text: "x".repeat(1_000) })}\n`;
  log.write(bytes(line));
  await log.flush();
  disk.fill();
  for (let i = 0; i < 20; i++) log.write(bytes(line));
  await log.flush();
  expect(log.linesLeftOut).toBeGreaterThan(10);
  disk.free();
  log.write(bytes(line));
  await log.flush();
  const lines = readFileSync(file, "utf8").split("\n");
  expect(lines.at(-2)).toBe(line.trimEnd());
  expect(`${lines.at(-3)}\n`).toBe(notice(log.linesLeftOut));
});

test("lines written to a full pipe arrive unchanged", async () => {
  const { path, end } = pipe("full");
  const log = new LogOutput({ open: () => Bun.file(openSync(path, "w")).writer(), flushMs: 60_000 });
  const shared = Buffer.alloc(200_000);
  const letters = "abcde";
  for (const letter of letters) log.write(shared.fill(letter));
  shared.fill("x");
  const taken: Buffer[] = [];
  const part = Buffer.alloc(64 * 1024);
  for (let left = letters.length * shared.length; left > 0; await Bun.sleep(0)) {
    const count = readIfAny(end, part);
    taken.push(Buffer.from(part.subarray(0, count)));
    left -= count;
  }
  await log.flush();
  closeSync(end);
  expect(Buffer.concat(taken).toString() === [...letters].map((one) => one.repeat(200_000)).join("")).toBe(
    true,
  );
});

function readIfAny(descriptor: number, into: Buffer): number {
  try {
    return readSync(descriptor, into);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EAGAIN") return 0;
    throw error;
  }
}

test("a server whose log is not read keeps answering, and stops on a signal", async () => {
  const { end } = pipe("unread");
  const server = await serve(["--data", join(directory, "data"), "--rate-limit", "0"], {
    env: { ONAIR_LOG_LEVEL: "info" },
    log: end,
  });
  // Each request logs about 200 bytes; a pipe holds 64 KB.
  for (let i = 0; i < 600; i++) expect((await server.get("/public/v1/categories")).status).toBe(200);
  expect(await server.end("SIGTERM")).toBe(0);
  const first = Buffer.alloc(100);
  readSync(end, first);
  expect(first.toString()).toStartWith('{"time":');
  closeSync(end);
});
