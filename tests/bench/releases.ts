/*
 * Two releases running together on one PostgreSQL, under load: bun tests/bench/releases.ts --help
 */
import { rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { type FaultRun, faultRun, type TestReplica } from "../support/fault-run.ts";
import { administer } from "../support/postgres.ts";
import { startPostgres } from "../support/postgres-server.ts";
import { crossTraffic } from "./replicas/traffic.ts";
import { type Bench, benchmark, type Outcome } from "./support/bench.ts";
import { BenchError } from "./support/processes.ts";
import { whole } from "./support/report.ts";

const about = `
Two replicas of the old release (--old FILE, an executable) are ended by SIGTERM one after the other and replaced by the new
release (--executable FILE), under a load of publishing, deliveries, subscriptions, tokens, idempotency keys and paging
across replicas. While both releases run together, one replica of each is killed once. If the new release refuses to run
beside the old one, all old replicas are ended first. Then follows the way back, with the old release started beside the new
one, and the same again beginning with the new release. Exits with 1 if anything was lost, duplicated, out of order or
against a promise.
`;

type Releases = Readonly<Record<"old" | "new", string>>;
type Release = keyof Releases;

/** Replicas of `first`, one after the other replaced by `next`, on a database of their own. */
async function change(
  bench: Bench,
  releases: Releases,
  { name, first, next, seconds }: { name: string; first: Release; next: Release; seconds: number },
): Promise<Outcome> {
  const lines: string[] = [];
  const problems: string[] = [];
  const log = join(bench.directory, "log");

  /** Replaces a replica by one of another release. False if that refuses to start, with the reason in one log line. */
  async function replaced(replica: TestReplica, release: Release): Promise<boolean> {
    if (replica.isRunning) await replica.end("SIGTERM");
    rmSync(log, { force: true });
    try {
      await replica.start([releases[release]]);
      return true;
    } catch (error) {
      const said = (await Bun.file(log).text()).trim().split("\n");
      lines.push(`${release}: ${(error as Error).message}`, said.at(-1) ?? "");
      if (said.length !== 1) problems.push(`${release} refuses in ${said.length} lines`);
      return false;
    }
  }

  async function replace(replica: TestReplica, release: Release): Promise<void> {
    if (!(await replaced(replica, release))) problems.push(`${release} does not start`);
  }

  /** Lets both serve for a while. Then each is killed and restarted with the same release. */
  async function beside(pair: readonly (readonly [TestReplica, Release])[], { allServed }: FaultRun) {
    await Bun.sleep(seconds * 1_000);
    await allServed();
    for (const [replica, release] of pair) {
      await replica.end("SIGKILL");
      await allServed();
      await replace(replica, release);
      await allServed();
    }
  }

  const postgres = await startPostgres();
  await administer(postgres.url("postgres"), `CREATE DATABASE ${name}`);
  const run = { command: [releases[first]], log };
  const report = await faultRun({
    database: postgres.url(name),
    backlog: 20_000,
    replicas: [run, run],
    async faults([one, other], run) {
      if (!one || !other) return;
      const traffic = await crossTraffic([one, other]);
      await Bun.sleep(seconds * 1_000);
      if (await replaced(one, next)) {
        lines.push(`${next} runs beside ${first}`);
        await beside(
          [
            [one, next],
            [other, first],
          ],
          run,
        );
        await replace(other, next);
      } else if (next === "new") {
        await run.allServed();
        lines.push(`${first} serves on; all of it is ended`);
        await other.end("SIGTERM");
        for (const replica of [one, other]) await replace(replica, next);
      } else await replace(one, first);
      await run.allServed();
      await traffic.stop();
      const { rounds, brokenOff } = traffic.counts;
      lines.push(`${whole(rounds)} rounds of traffic, ${brokenOff} broken off by an end of a replica`);
      problems.push(...traffic.problems);
    },
  });
  await postgres.stop();
  const { acknowledged, deliveries, requests } = report;
  problems.push(...report.problems);
  lines.push(
    `${whole(acknowledged)} events, ${whole(deliveries)} deliveries in ${whole(requests)} requests, ` +
      `${problems.length} broken promises`,
  );
  return {
    shown: [`${name}:`, ...lines].join("\n  "),
    figures: { lines, acknowledged, deliveries, requests },
    problems,
  };
}

await benchmark(
  {
    about,
    options: {
      old: { default: null, help: "the executable of an earlier release" },
      seconds: { default: 5, help: "how long the two run beside each other each time" },
    },
    ofExecutable: true,
  },
  async (bench, { old, seconds }) => {
    if (old === null) throw new BenchError("--old is missing: the executable of an earlier release");
    const releases = { old: resolve(old), new: bench.executable };
    const upgrade = { name: "upgrade", first: "old", next: "new", seconds } as const;
    const wayBack = { name: "way_back", first: "new", next: "old", seconds } as const;
    for (const one of [upgrade, wayBack]) await bench.measure(one.name, () => change(bench, releases, one));
  },
);
