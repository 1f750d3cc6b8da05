import type { components } from "./generated/admin.d.ts";
import { Card, size } from "./parts/basics.tsx";
import { Bar, Figure } from "./parts/figure.tsx";
import { Table } from "./parts/table.tsx";
import { fullTime, Time } from "./parts/time.tsx";
import { to } from "./places.ts";

type Storage = Omit<components["schemas"]["Storage"], "message">;

/** As much room as `onair doctor` wants. */
const leastFreeBytes = 256 * 1024 * 1024;
const dayMs = 86_400_000;
const soonMs = 3 * dayMs;
const foreseenMs = 30 * dayMs;

export interface StorageProblem {
  readonly tone: "bad" | "warn";
  readonly title: string;
  readonly text: string;
}

/** What ought to be done about the disk of the data directory; null: nothing, or it is not known. */
export function storageProblem({ free_bytes, database_bytes, full_at }: Storage): StorageProblem | null {
  if (free_bytes === null) return null;
  const room = "Delete old backups, keep deliveries for fewer days, or give the disk more room.";
  const free = `${size(free_bytes)} are free.`;
  if (free_bytes < leastFreeBytes)
    return {
      tone: "bad",
      title: "The disk is nearly full",
      text: `${free} Without room nothing is accepted. ${room}`,
    };
  const leftMs = full_at === null ? Number.POSITIVE_INFINITY : Date.parse(full_at) - Date.now();
  if (full_at !== null && leftMs < foreseenMs) {
    const text = `If it fills as in the last week, it is full at ${fullTime(full_at)}. ${free} ${room}`;
    return { tone: leftMs < soonMs ? "bad" : "warn", title: "The disk will be full", text };
  }
  if (free_bytes < (database_bytes ?? 0) + leastFreeBytes)
    return { tone: "warn", title: "No further backup fits on the disk", text: `${free} ${room}` };
  return null;
}

/** The room there is, how long it lasts, and when the last backup was made. */
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
        // Only of a data directory is the log counted, and the disk known.
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
  attempts: "Attempts and answers",
  users: "Users",
  search: "Index of the search",
  subscriptions: "Subscriptions",
  access: "Applications, tokens and consents",
  other: "Everything else",
  free: "Free, for new rows",
};

/** What takes the room in the database; nothing where it is not known yet. */
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
      title="What takes the room"
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
        label="What takes the room in the database"
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
