/*
 * Two releases beside each other on one PostgreSQL, under load: bun tests/bench/releases.ts --help
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { administer } from "../support/postgres.ts";
import { startPostgres } from "../support/postgres-server.ts";
import { type ReplicaRun, replicaRun, type TestReplica } from "../support/replica-run.ts";
import { temporaryDirectory } from "../support/server.ts";
import { crossTraffic } from "./replicas/traffic.ts";
import { builtExecutable } from "./support/onair.ts";
import { readOptions } from "./support/options.ts";
import { whole } from "./support/report.ts";

const help = `Usage: bun tests/bench/releases.ts --old FILE [options]

  --old FILE   the executable of an earlier release
  --new FILE   the one that takes its place (default: dist/onair, built where it is missing)
  --seconds N  how long the two run beside each other each time (default: 5)

Two replicas of the old release serve; one after the other is ended (SIGTERM) and replaced by the new release, under
publishing, deliveries, subscriptions, tokens and walks from one replica to the other. Beside each other, one of each is killed
once. Where the new release refuses to run beside the old one, all of the old ones are ended first. Then the way back: the old
release starts beside the new one. The same once more, beginning with the new release.

Prints what happened in each step, and exits with 1 where anything was lost, doubled, out of order or not as it is promised.
`;

const {
  old: older,
  new: newer,
  seconds,
} = readOptions(help, {
  texts: ["old", "new"],
  numbers: { seconds: { default: 5 } },
});
if (older === undefined) {
  process.stderr.write("--old is missing: the executable of an earlier release\n");
  process.exit(2);
}
const releases = { old: [await builtExecutable(older)], new: [await builtExecutable(newer)] } as const;
type Release = keyof typeof releases;

const say = (text: string) => process.stdout.write(`${text}\n`);
const postgres = await startPostgres();
const directory = temporaryDirectory();
const log = join(directory.path, "log");
let brokenPromises = 0;

/** Starts a release in place of a replica that has ended. False where it refuses; then it has said why. */
async function replace(replica: TestReplica, release: Release): Promise<boolean> {
  if (replica.isRunning) await replica.end("SIGTERM");
  rmSync(log, { force: true });
  try {
    await replica.start(releases[release]);
    return true;
  } catch (error) {
    const text = await Bun.file(log).text();
    say(`  ${release}: ${(error as Error).message}`);
    say(`  ${text.trim().split("\n").at(-1)}`);
    if (text.trim().split("\n").length !== 1) brokenPromises++;
    return false;
  }
}

/** Lets both serve for a while; then one after the other is killed, and started again as it was. */
async function beside(
  pair: readonly { replica: TestReplica; release: Release }[],
  { allServed }: ReplicaRun,
) {
  await Bun.sleep(seconds * 1_000);
  await allServed();
  for (const { replica, release } of pair) {
    await replica.end("SIGKILL");
    await allServed();
    if (!(await replace(replica, release))) brokenPromises++;
    await allServed();
  }
}

/** Replicas of `first`, one after the other replaced by `then`. */
async function change(name: string, first: Release, then: Release): Promise<void> {
  say(`${name}:`);
  await administer(postgres.url("postgres"), `CREATE DATABASE ${name}`);
  const run = { command: releases[first], log };
  const report = await replicaRun({
    database: postgres.url(name),
    backlog: 20_000,
    replicas: [run, run],
    async faults([one, other], run) {
      if (!one || !other) return;
      const traffic = await crossTraffic([one, other]);
      await Bun.sleep(seconds * 1_000);
      if (await replace(one, then)) {
        say(`  ${then} runs beside ${first}`);
        await beside(
          [
            { replica: one, release: then },
            { replica: other, release: first },
          ],
          run,
        );
        if (!(await replace(other, then))) brokenPromises++;
      } else if (then === "new") {
        await run.allServed();
        say(`  ${first} serves on; all of it is ended`);
        await other.end("SIGTERM");
        for (const replica of [one, other]) if (!(await replace(replica, then))) brokenPromises++;
      } else if (!(await replace(one, first))) brokenPromises++;
      await run.allServed();
      await traffic.stop();
      const { rounds, brokenOff } = traffic.counts;
      say(`  ${whole(rounds)} rounds of traffic, ${brokenOff} broken off by an end of a replica`);
      for (const problem of traffic.problems.slice(0, 5)) say(`  ${problem}`);
      brokenPromises += traffic.problems.length;
    },
  });
  const { acknowledged, deliveries, requests, problems } = report;
  say(`  ${whole(acknowledged)} events, ${whole(deliveries)} deliveries in ${whole(requests)} requests`);
  for (const problem of problems.slice(0, 5)) say(`  ${problem}`);
  brokenPromises += problems.length;
}

await change("upgrade", "old", "new");
await change("way_back", "new", "old");
await postgres.stop();
directory.remove();
say(`${brokenPromises} broken promises`);
process.exit(brokenPromises === 0 ? 0 : 1);
