/*
 * Kills, stops and continues replicas at random under load, and checks that nothing is lost, duplicated or out of
 * order: bun tests/bench/replica-faults.ts --help
 */

import { pick, seeded } from "../../src/dev/chance.ts";
import { faultRun, type TestReplica } from "../support/fault-run.ts";
import { startPostgres } from "../support/postgres-server.ts";
import { benchmark } from "./support/bench.ts";
import { whole } from "./support/report.ts";

const about = `
A replica is killed (SIGKILL), ended (SIGTERM), or suspended for up to 6 seconds (SIGSTOP), which is longer than its lease.
At the end, when nothing is pending, every acknowledged event must have reached every subscription, under one webhook-id
each, in a sequence without gaps, with first attempts in order. Exits with 1 if a check fails. Takes some 3 s per fault.
`;

type Fault = (replica: TestReplica, random: () => number) => Promise<void>;

const happen: Record<string, Fault> = {
  async killed(replica, random) {
    await replica.end("SIGKILL");
    await Bun.sleep(random() * 4_000);
    await replica.start();
  },
  async ended(replica, random) {
    await replica.end("SIGTERM");
    await Bun.sleep(random() * 1_000);
    await replica.start();
  },
  async stopped(replica, random) {
    replica.server.kill("SIGSTOP");
    await Bun.sleep(random() * 6_000);
    replica.server.kill("SIGCONT");
  },
};

await benchmark(
  {
    about,
    options: {
      faults: { default: 100, help: "how often something happens to one of three replicas" },
      seed: { default: Date.now() % 1e6, least: 0, help: "of every choice that is made" },
    },
    parts: Object.keys(happen),
    ofExecutable: true,
  },
  async (bench, { faults, seed }) => {
    const random = seeded(seed);
    const postgres = await startPostgres();
    const counts = new Map<string, number>();
    await bench.measure("faults", async () => {
      const report = await faultRun({
        database: postgres.url("postgres"),
        backlog: 20_000,
        replicas: Array.from({ length: 3 }, () => ({ command: [bench.executable] })),
        async faults(replicas) {
          for (let i = 0; i < faults; i++) {
            const kind = pick(random, bench.only);
            await happen[kind]?.(pick(random, replicas), random);
            counts.set(kind, (counts.get(kind) ?? 0) + 1);
            await Bun.sleep(random() * 1_500);
          }
        },
      });
      await postgres.stop();
      const { acknowledged, deliveries, requests, problems } = report;
      const happened = [...counts].map(([kind, count]) => `${count} ${kind}`).join(", ");
      return {
        shown:
          `${happened} (seed ${seed}): ${whole(acknowledged)} events acknowledged, ` +
          `${whole(deliveries)} deliveries in ${whole(requests)} requests, ${problems.length} broken promises`,
        figures: { ...report, happened: Object.fromEntries(counts) },
        problems,
      };
    });
  },
);
