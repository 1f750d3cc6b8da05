/*
 * On Air on PostgreSQL, alone and as several replicas, beside SQLite: bun tests/bench/replicas.ts --help
 */
import { measureSeveral } from "./replicas/several.ts";
import { measureStores } from "./replicas/stores.ts";
import { type Bench, benchmark, type Outcome } from "./support/bench.ts";

const about = `
stores    Events of 650 bytes are published one by one and delivered to one endpoint, on SQLite and on PostgreSQL, whose
          commits are synced. All are on both cores, the publishers and the receiver on the second one. Processor time is
          On Air's and the database's together.
replicas  200 events a second are published to two replicas in turn, for endpoints of which each owns some; and one of
          them is killed.
`;

interface ReplicaOptions {
  readonly rounds: number;
  readonly seconds: number;
}

const parts: Record<string, (bench: Bench, options: ReplicaOptions) => Promise<Outcome>> = {
  stores: measureStores,
  replicas: measureSeveral,
};

await benchmark(
  {
    about,
    options: {
      rounds: { default: 3, most: 100, help: "rounds of each store, and kills of a replica" },
      seconds: {
        default: 5,
        most: 3_600,
        help: "length of publishing to replicas",
      },
    },
    parts: Object.keys(parts),
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
