/*
 * The latency of events caused by the disk alone: bun bare-sync.ts <file> <events a second> <seconds>
 *
 * Due events are written together, a page each, and synced, into a log of 16 MB that is overwritten when full. Prints
 * one line of JSON with the milliseconds from due to synced: { p50Ms, p99Ms, maxMs }.
 */
import { fsyncSync, openSync, writeSync } from "node:fs";
import { percentile } from "../support/report.ts";

const [file = "", perSecond, seconds] = process.argv.slice(2);
const everyMs = 1000 / Number(perSecond);
const count = Math.ceil(Number(perSecond) * Number(seconds));

const page = new Uint8Array(4_096).fill(1);
const pages = 4_096;
const log = openSync(file, "w", 0o600);
for (let i = 0; i < pages; i++) writeSync(log, page);
fsyncSync(log);

const latenciesMs: number[] = [];
const startedAt = performance.now();
const cameUpAt = (event: number) => startedAt + event * everyMs;
while (latenciesMs.length < count) {
  const first = latenciesMs.length;
  const behind = Math.min(count, Math.floor((performance.now() - startedAt) / everyMs) + 1);
  if (behind <= first) {
    Bun.sleepSync(Math.max(0.05, cameUpAt(first) - performance.now()));
    continue;
  }
  for (let event = first; event < behind; event++)
    writeSync(log, page, 0, page.length, (event % pages) * page.length);
  fsyncSync(log);
  const syncedAt = performance.now();
  for (let event = first; event < behind; event++) latenciesMs.push(syncedAt - cameUpAt(event));
}
const [p50Ms, p99Ms, maxMs] = [0.5, 0.99, 1].map((share) => percentile(latenciesMs, share));
process.stdout.write(`${JSON.stringify({ p50Ms, p99Ms, maxMs })}\n`);
