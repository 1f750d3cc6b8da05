/*
 * On Air on PostgreSQL, alone and as several replicas, beside SQLite and Fastify: bun tests/bench/replicas.ts --help
 */
import { measureReads } from "./replicas/reads.ts";
import { measureSeveral } from "./replicas/several.ts";
import { measureShares } from "./replicas/shares.ts";
import { measureStores } from "./replicas/stores.ts";
import { type Bench, benchmark, type Outcome } from "./support/bench.ts";

const about = `
stores    Events of 650 bytes are published one by one and delivered to one endpoint, on SQLite and on PostgreSQL, whose
          commits are synced. All are on both cores, the publishers and the receiver on the second one. Processor time is
          On Air's and the database's together.
replicas  200 events a second are published to two replicas in turn, for endpoints of which each owns some; and one of
          them is killed.
reads     Get User of users that are drawn uniformly, on SQLite, on PostgreSQL, and on Fastify with pg. A server and its
          database share a core. Needs wrk and npm.
shares    1, 2 and 4 replicas, each held to a quarter of a core; the database, the load and the receiver are on the other
          core. Needs wrk, and root for the control groups.
`;

interface ReplicaOptions {
  readonly rounds: number;
  readonly seconds: number;
}

const parts: Record<string, (bench: Bench, options: ReplicaOptions) => Promise<Outcome>> = {
  stores: measureStores,
  replicas: measureSeveral,
  reads: measureReads,
  shares: measureShares,
};

await benchmark(
  {
    about,
    options: {
      rounds: { default: 3, most: 100, help: "rounds of each store or number of replicas, and kills of one" },
      seconds: {
        default: 5,
        most: 3_600,
        help: "length of a round of reads, of shares, and of publishing to replicas",
      },
    },
    parts: Object.keys(parts),
    needs: ["wrk"],
    ofExecutable: true,
    pinned: true,
  },
  async (bench, options) => {
    for (const name of bench.only) {
      bench.say(`Measuring ${name}`);
      await bench.measure(name, async () => (parts[name] as (typeof parts)[string])(bench, options));
    }
  },
);
