/*
 * What many events a second and many replicas ask of one PostgreSQL, computed from measured costs:
 * bun tests/bench/capacity.ts --help
 */
import { type Costs, measureCosts } from "./capacity/costs.ts";
import { type Capacity, capacityFor, type Given } from "./capacity/model.ts";
import { builtExecutable } from "./support/onair.ts";
import { readOptions } from "./support/options.ts";
import { benchDirectory, requireMachine, runBench } from "./support/processes.ts";
import { table, whole } from "./support/report.ts";

const help = `Usage: bun tests/bench/capacity.ts [options]

  --cores N          cores of the database (default: 16)
  --replica-us N     processor time of a replica for an event, in microseconds (default: 150; replicas.ts measures it)
  --sync-us N        a sync of the database's disk, in microseconds (default: 500)
  --round-trip-us N  between a replica and the database (default: 300)
  --executable FILE  measure this one instead of dist/onair

First the processor time is measured that a PostgreSQL here spends on publishing and recording, by the number of entries of a
statement, on notifications and on replicas that have nothing to do. From it is computed what platforms ask, each of whose
replicas has a core: events of 650 bytes with one delivery each, which come at random. A core is one of this machine.
`;

/** Events a second, and replicas; the last but one is a billion deliveries a day with three times that at its peak. */
const platforms = [
  [1_000, 2],
  [1_000, 10],
  [1_000, 100],
  [10_000, 4],
  [10_000, 10],
  [10_000, 100],
  [35_000, 20],
  [100_000, 50],
  [100_000, 100],
] as const;

async function main(): Promise<void> {
  const most = 1e6;
  const { cores: databaseCores, ...options } = readOptions(help, {
    numbers: {
      cores: { default: 16, most },
      "replica-us": { default: 150, most },
      "sync-us": { default: 500, most },
      "round-trip-us": { default: 300, most },
    },
    texts: ["executable"],
  });
  const given: Given = {
    replicaMs: options["replica-us"] / 1_000,
    syncMs: options["sync-us"] / 1_000,
    roundTripMs: options["round-trip-us"] / 1_000,
  };
  requireMachine({ taskset: "util-linux" });
  const executable = await builtExecutable(options.executable);
  const costs = await measureCosts(executable, benchDirectory());
  const found = platforms.map(([eventsPerSecond, replicas]) => ({
    eventsPerSecond,
    replicas,
    ...capacityFor({ eventsPerSecond, replicas, databaseCores }, costs, given),
  }));
  process.stdout.write(`${costsTable(costs)}\n\n${platformsTable(found)}\n\n${storage(costs)}\n`);
}

const us = (ms: number) => `${(ms * 1_000).toFixed(0)} µs`;

function costsTable({ publish, record, notification, idleReplicaMs }: Costs): string {
  return table([
    ["measured: processor time of the database", "a statement", "each entry"],
    ["publishing events", us(publish.fixedMs), us(publish.eachMs)],
    ["recording results", us(record.fixedMs), us(record.eachMs)],
    ["a notification; each that listens", us(notification.fixedMs), us(notification.eachMs)],
    ["an idle replica, of a second", us(idleReplicaMs), ""],
  ]);
}

function platformsTable(
  found: readonly (Capacity & { readonly eventsPerSecond: number; readonly replicas: number })[],
): string {
  const percent = (share: number) => `${(share * 100).toFixed(0)} %`;
  const rows = found.map(({ eventsPerSecond, replicas, parts, ...one }) => {
    const all = parts.publish + parts.record + parts.notifications + parts.idle;
    return [
      `${whole(eventsPerSecond)} events/s, ${replicas} replicas`,
      percent(one.replica),
      `${one.database.toFixed(2)} cores`,
      ...[parts.publish, parts.record, parts.notifications, parts.idle].map((part) => percent(part / all)),
      one.batch.toFixed(1),
      one.keepsUp ? "yes" : "NO",
    ];
  });
  const of = ["publish", "record", "notify", "idle"];
  const head = ["computed", "each replica", "database", ...of, "in a statement", "keeps up"];
  return table([head, ...rows]);
}

function storage({ logBytes, keptBytes }: Costs): string {
  const billion = (bytes: number) => `${whole((bytes * 1e9) / 2 ** 30)} GB`;
  return table([
    ["bytes of an event with one delivery", "measured", "computed: a billion a day"],
    ["written to the database's log", whole(logBytes), billion(logBytes)],
    ["kept, with indexes", whole(keptBytes), billion(keptBytes)],
  ]);
}

await runBench(main);
