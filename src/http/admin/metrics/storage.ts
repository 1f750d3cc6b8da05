import type { KindSizes } from "../../../domain/operations/kind-sizes.ts";
import { second } from "../../../domain/time.ts";
import { inTime } from "../../../runtime/event-loop.ts";
import type { AdminDeps } from "../base.ts";
import { type AnyMetric, gauge } from "./exposition.ts";

/** Less than Prometheus's default scrape timeout of 10 seconds. */
const longestReadMs = 3 * second;

/** Metrics of the database and the disk. A value that cannot be read is left out. */
export async function storageMetrics({ store, facts, now }: AdminDeps): Promise<AnyMetric[]> {
  // The other metrics must not wait for a database that does not respond.
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
      "Pending deliveries in the database, counted up to half a million.",
      backlog?.pending,
    ),
    ...gauge(
      "onair_oldest_pending_age_seconds",
      "Age of the oldest pending delivery; 0 if there is none.",
      backlog && (oldest === null ? 0 : Math.max(0, now() - oldest) / 1000),
    ),
    ...gauge("onair_database_bytes", "Size of the database, without its write-ahead log.", databaseBytes),
    ...(measured ? [kindGauge(measured.kinds)] : []),
    ...gauge(
      "onair_database_wal_bytes",
      "Size of the write-ahead log in the data directory.",
      attempt(() => facts.watched?.logBytes() ?? null),
    ),
    ...gauge("onair_disk_free_bytes", "Free space on the disk of the data directory.", disk?.free_bytes),
    ...gauge("onair_disk_size_bytes", "Size of the disk of the data directory.", disk?.total_bytes),
  ];
}

function kindGauge(kinds: KindSizes): AnyMetric {
  const samples = Object.entries(kinds).map(([kind, value]) => ({ labels: { kind }, value }));
  const help = "Bytes used in the database by each kind of data, measured once an hour.";
  return { type: "gauge", name: "onair_data_bytes", help, samples };
}

function attempt<T>(read: () => T | null): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}
