/*
 * The load that many events a second and many replicas put on one PostgreSQL, computed from measured costs:
 * bun tests/bench/capacity.ts --help
 */
import { type Costs, measureCosts } from "./capacity/costs.ts";
import { type Capacity, capacityFor } from "./capacity/model.ts";
import { benchmark } from "./support/bench.ts";
import { percent, table, whole } from "./support/report.ts";

const about = `
Measures the processor time of a local PostgreSQL for publishing and recording, by the number of entries per statement, for
notifications and for idle replicas. From that it computes the load of platforms whose events of 650 bytes arrive at random,
with one delivery each. Each replica has one core, like those of this machine. Assumed are 16 cores for the database, 150 µs
of a replica per event, as measured by replicas.ts, 500 µs for a sync of the database's disk, and 300 µs for a round trip
between a replica and the database.
`;

const databaseCores = 16;
const given = { replicaMs: 0.15, syncMs: 0.5, roundTripMs: 0.3 };

/**
 * Events a second, and replicas. The last but one is a billion deliveries a day, with three times the mean rate at
 * peak.
 */
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

await benchmark({ about, ofExecutable: true }, (bench) =>
  bench.measure("capacity", async () => {
    const costs = await measureCosts(bench);
    const found = platforms.map(([eventsPerSecond, replicas]) => ({
      eventsPerSecond,
      replicas,
      ...capacityFor({ eventsPerSecond, replicas, databaseCores }, costs, given),
    }));
    return {
      shown: [costsTable(costs), platformsTable(found), storage(costs)].join("\n\n"),
      figures: { costs, platforms: found },
    };
  }),
);
