/*
 * Kills, stops and continues replicas at random under load, and checks that nothing is lost, doubled or out of order:
 * bun tests/bench/replica-faults.ts --help
 */
import { startPostgres } from "../support/postgres-server.ts";
import { replicaRun, type TestReplica } from "../support/replica-run.ts";
import { builtExecutable } from "./support/onair.ts";
import { readOptions } from "./support/options.ts";
import { seededRandom } from "./support/random.ts";
import { whole } from "./support/report.ts";

const help = `Usage: bun tests/bench/replica-faults.ts [options]

  --faults N         how often something happens to one of three replicas (default: 100)
  --only KINDS       only these of killed, ended, stopped
  --seed N           of every choice that is made (default: another one each time)
  --executable FILE  run this one instead of dist/onair

A replica is killed (SIGKILL), ended (SIGTERM), or stands still for up to 6 seconds (SIGSTOP), which is longer than its
lease. At the end, when nothing is pending any more, every acknowledged event must have reached every subscription, under one
webhook-id each, in a sequence without a gap, first attempts in order. Exits with 1 when anything is not so. Some 3 s for
each fault.
`;

const all = ["killed", "ended", "stopped"] as const;
const { faults, seed, executable, only } = readOptions(help, {
  numbers: { faults: { default: 100 }, seed: { default: Date.now() % 1e6, least: 0 } },
  texts: ["executable"],
  only: all,
});
const kinds = all.filter((kind) => only.includes(kind));
const command = [await builtExecutable(executable)];
const random = seededRandom(seed);
const postgres = await startPostgres();

const happen: Record<(typeof all)[number], (replica: TestReplica) => Promise<void>> = {
  async killed(replica) {
    await replica.end("SIGKILL");
    await Bun.sleep(random() * 4_000);
    await replica.start();
  },
  async ended(replica) {
    await replica.end("SIGTERM");
    await Bun.sleep(random() * 1_000);
    await replica.start();
  },
  async stopped(replica) {
    replica.server.kill("SIGSTOP");
    await Bun.sleep(random() * 6_000);
    replica.server.kill("SIGCONT");
  },
};
const counts = new Map<string, number>();

const report = await replicaRun({
  database: postgres.url("postgres"),
  backlog: 20_000,
  replicas: Array.from({ length: 3 }, () => ({ command })),
  async faults(replicas) {
    for (let i = 0; i < faults; i++) {
      const kind = kinds[Math.floor(random() * kinds.length)] ?? "killed";
      const replica = replicas[Math.floor(random() * replicas.length)];
      if (replica) await happen[kind](replica);
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
      await Bun.sleep(random() * 1_500);
    }
  },
});
await postgres.stop();
const { acknowledged, deliveries, requests, problems } = report;
const happened = [...counts].map(([kind, count]) => `${count} ${kind}`).join(", ");
process.stdout.write(
  `${happened} (seed ${seed}): ${whole(acknowledged)} events acknowledged, ${whole(deliveries)} deliveries in ` +
    `${whole(requests)} requests, ${problems.length} broken promises\n`,
);
for (const problem of problems.slice(0, 20)) process.stdout.write(`${problem}\n`);
process.exit(problems.length === 0 ? 0 : 1);
