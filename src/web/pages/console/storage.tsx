import { leastFreeBytes } from "../../../domain/storage.ts";
import { day } from "../../../domain/time.ts";
import type { components } from "../../generated/admin.d.ts";
import { Card, size } from "../../parts/basics.tsx";
import { Bar, Figure } from "../../parts/figure.tsx";
import { Table } from "../../parts/table.tsx";
import { fullTime, Time } from "../../parts/time.tsx";
import { to } from "../../places.ts";

type Storage = Omit<components["schemas"]["Storage"], "message">;

const soonMs = 3 * day;
const foreseenMs = 30 * day;

export interface StorageProblem {
  readonly tone: "bad" | "warn";
  readonly title: string;
  readonly text: string;
}

/** The problem of the data directory's disk; null when there is none, or it is unknown. */
export function storageProblem({ free_bytes, database_bytes, full_at }: Storage): StorageProblem | null {
  if (free_bytes === null) return null;
  const advice = "Delete old backups, keep deliveries for fewer days, or enlarge the disk.";
  const free = `${size(free_bytes)} are free.`;
  if (free_bytes < leastFreeBytes)
    return {
      tone: "bad",
      title: "The disk is nearly full",
      text: `${free} On a full disk all writes fail. ${advice}`,
    };
  const leftMs = full_at === null ? Number.POSITIVE_INFINITY : Date.parse(full_at) - Date.now();
  if (full_at !== null && leftMs < foreseenMs) {
    const text = `At the rate of the last week, it will be full at ${fullTime(full_at)}. ${free} ${advice}`;
    return { tone: leftMs < soonMs ? "bad" : "warn", title: "The disk will be full", text };
  }
  if (free_bytes < (database_bytes ?? 0) + leastFreeBytes)
    return { tone: "warn", title: "Not enough disk space for another backup", text: `${free} ${advice}` };
  return null;
}

/** The free space, when it will run out, the size of the database, and the time of the last backup. */
export function StorageFigures({ storage, backupAt }: { storage: Storage | null; backupAt: string | null }) {
  const { free_bytes = null, total_bytes = null, database_bytes = null, full_at = null } = storage ?? {};
  return (
    <>
      {free_bytes !== null && total_bytes !== null && (
        <Figure
          value={size(free_bytes)}
          label={
            <>
              free of {size(total_bytes)}
              {full_at && (
                <>
                  , full <Time at={full_at} />
                </>
              )}
            </>
          }
        />
      )}
      {database_bytes !== null && (
        // The log is included, and the disk known, only for a data directory.
        <Figure
          value={size(database_bytes)}
          label={total_bytes === null ? "Database" : "Database and its log"}
        />
      )}
      <Figure value={backupAt ? <Time at={backupAt} /> : "none"} label="Last backup" href={to("/backups")} />
    </>
  );
}

const kindNames: Readonly<Record<string, string>> = {
  events: "Events with their bodies",
  deliveries: "Deliveries",
  attempts: "Attempts and responses",
  users: "Users",
  search: "Search index",
  subscriptions: "Subscriptions",
  access: "Applications, tokens and consents",
  other: "Everything else",
  free: "Free, for new rows",
};

/** The size of each kind of data in the database. Renders nothing until it was measured. */
export function StorageKinds({ storage }: { storage: Storage | null }) {
  const { kinds = null, kinds_measured_at = null } = storage ?? {};
  if (kinds === null) return null;
  const rows = Object.entries(kinds)
    .map(([kind, bytes]) => ({ kind, bytes }))
    .sort((a, b) => b.bytes - a.bytes);
  const all = Math.max(
    1,
    rows.reduce((sum, { bytes }) => sum + bytes, 0),
  );
  return (
    <Card
      title="Storage by kind of data"
      actions={
        <span class="muted">
          {kinds_measured_at && (
            <>
              measured <Time at={kinds_measured_at} />
            </>
          )}
        </span>
      }
      isFlush
    >
      <Table
        label="Storage by kind of data"
        rows={rows}
        keyOf={({ kind }) => kind}
        columns={[
          { name: "Data", show: ({ kind }) => kindNames[kind] ?? kind },
          {
            name: "Share",
            hide: "narrow",
            show: ({ kind, bytes }) => <Bar isShare part={bytes / all} label={`Share of ${kind}`} />,
          },
          { name: "Size", isNumber: true, show: ({ bytes }) => size(bytes) },
        ]}
      />
    </Card>
  );
}
