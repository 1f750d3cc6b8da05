import type { KindSizes } from "../../../domain/operations/kind-sizes.ts";
import { second } from "../../../domain/time.ts";
import { inTime } from "../../../runtime/event-loop.ts";
import type { AdminDeps } from "../base.ts";
import type { AnyMetric } from "./exposition.ts";
import { gauge } from "./metric.ts";

/** The default scrape timeout of Prometheus is 10 seconds. */
const longestReadMs = 3 * second;

/** What is in the database and on the disk; a value that cannot be read is left out. */
export async function storageMetrics({ store, facts, now }: AdminDeps): Promise<AnyMetric[]> {
  // The other metrics do not wait for a database that is away.
  const read = <T>(reading: Promise<T>) => inTime(reading, longestReadMs).catch(() => null);
  const [backlog, databaseBytes, measured] = await Promise.all([
    read(store.deliveries.backlogOfAll()),
    read(store.statistics.databaseBytes()),
    read(facts.kindSizes()),
  ]);
  const disk = attempt(() => facts.storage());
  const oldest = backlog?.oldest_pending_at ?? null;
  return [
    ...gauge(
      "onair_deliveries_pending",
      "Deliveries in the database that have not come to their end, up to half a million.",
      backlog?.pending,
    ),
    ...gauge(
      "onair_oldest_pending_age_seconds",
      "Time since the oldest of them was published; 0: there is none.",
      backlog && (oldest === null ? 0 : Math.max(0, now() - oldest) / 1000),
    ),
    ...gauge("onair_database_bytes", "The database, without its write-ahead log.", databaseBytes),
    ...(measured ? [kindGauge(measured.kinds)] : []),
    ...gauge(
      "onair_database_wal_bytes",
      "The write-ahead log in the data directory.",
      attempt(() => facts.watched?.logBytes() ?? null),
    ),
    ...gauge("onair_disk_free_bytes", "Free on the disk of the data directory.", disk?.free_bytes),
    ...gauge("onair_disk_size_bytes", "The size of that disk.", disk?.total_bytes),
  ];
}

function kindGauge(kinds: KindSizes): AnyMetric {
  const samples = Object.entries(kinds).map(([kind, value]) => ({ labels: { kind }, value }));
  const help = "What the kinds of data take in the database, measured once an hour.";
  return { type: "gauge", name: "onair_data_bytes", help, samples };
}

function attempt<T>(read: () => T | null): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}
