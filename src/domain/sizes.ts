import { day } from "./time.ts";

/** Kinds of data in the database. */
export const storedKinds = [
  "events",
  "deliveries",
  "attempts",
  "users",
  "search",
  "subscriptions",
  "access",
  "other",
  "free",
] as const;

type StoredKind = (typeof storedKinds)[number];

/** Bytes of each kind, including indexes; `free` is space that new rows reuse. */
export type KindSizes = Readonly<Record<StoredKind, number>>;

const kinds: Readonly<Record<string, StoredKind>> = {
  events: "events",
  staged_events: "events",
  deliveries: "deliveries",
  attempts: "attempts",
  users: "users",
  subscriptions: "subscriptions",
  subscription_counts: "subscriptions",
  applications: "access",
  tokens: "access",
  refresh_tokens: "access",
  authorization_codes: "access",
  login_requests: "access",
  consents: "access",
};

/** Adds up the sizes of tables, which include their indexes, by kind. */
export function kindSizes(
  tables: readonly { readonly name: string; readonly bytes: number }[],
  free: number,
): KindSizes {
  const none = Object.fromEntries(storedKinds.map((kind) => [kind, 0])) as Record<StoredKind, number>;
  const sizes = { ...none, free };
  for (const { name, bytes } of tables) sizes[kindOf(name)] += bytes;
  return sizes;
}

function kindOf(table: string): StoredKind {
  if (/^(user_search|search_)/.test(table)) return "search";
  return kinds[table] ?? "other";
}

/** A size for people: `1.2 MB`, `300 MB`. */
export function shownBytes(bytes: number): string {
  return `${(bytes / 1e6).toLocaleString("en", { maximumFractionDigits: bytes < 1e7 ? 1 : 0 })} MB`;
}

/** The sizes in words, the largest first: `events 1,200 MB, deliveries 300 MB`. */
export function shownSizes(sizes: KindSizes): string {
  const parts = storedKinds
    .map((kind) => ({ kind, bytes: sizes[kind] }))
    .filter(({ bytes }) => bytes > 0)
    .sort((a, b) => b.bytes - a.bytes)
    .map(({ kind, bytes }) => `${kind} ${shownBytes(bytes)}`);
  return parts.join(", ");
}

/** A consistent snapshot of a database for health checks. Times are milliseconds since the epoch. */
export interface DatabaseFacts {
  readonly users: number;
  /** Users in the search index. */
  readonly indexedUsers: number;
  /** The private signing key in PEM (secret); null before the first start. */
  readonly signingKey: string | null;
  /** When the newest event was published; on PostgreSQL the newest entry of `delivery_times`. */
  readonly newestEventAt: number | null;
  readonly failingEndpoints: number;
  readonly disabledEndpoints: number;
  /** Some applications whose endpoint is disabled or failing, first those with a disabled endpoint. */
  readonly unwellApplications: readonly string[];
  readonly pending: number;
  /** Whether counting stopped at its limit: there may be more pending deliveries, also older deliveries. */
  readonly isPendingPartial: boolean;
  readonly oldestPendingAt: number | null;
  /** The time since which sending is held, in ISO 8601; "" or null when it is not held. */
  readonly heldSince: string | null;
}

/** With less free space than this, a disk counts as nearly full. */
export const leastFreeBytes = 256 * 1024 * 1024;

/** Free space at an earlier time. */
export interface FreeSpace {
  readonly at: number;
  readonly bytes: number;
}

/** The statistics of the storage in an hour: sums of samples, and their number. */
interface StorageRow {
  readonly at: number;
  readonly counts: Readonly<Record<string, number>>;
}

/** The average free space of an hour's samples; null without samples. */
export function freeSpaceOf(row: StorageRow | undefined): FreeSpace | null {
  const { samples = 0, free_bytes = 0 } = row?.counts ?? {};
  return row && samples > 0 ? { at: row.at, bytes: free_bytes / samples } : null;
}

/** How fast a disk fills, estimated from the free space earlier. */
interface DiskForecast {
  /** Bytes; null when less than a day is known. */
  readonly usedPerDay: number | null;
  /** null when the disk does not fill up within ten years. */
  readonly fullAt: number | null;
}

const longest = 10 * 365 * day;

export function diskForecast(before: FreeSpace | null, free: number, now: number): DiskForecast {
  const passed = now - (before?.at ?? now);
  if (before === null || passed < day) return { usedPerDay: null, fullAt: null };
  const usedPerDay = Math.round(((before.bytes - free) / passed) * day);
  const left = usedPerDay > 0 ? (free / usedPerDay) * day : Number.POSITIVE_INFINITY;
  return { usedPerDay, fullAt: left > longest ? null : now + left };
}
