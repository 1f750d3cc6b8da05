import type { ComponentChildren } from "preact";
import { leastFreeBytes } from "../../../domain/sizes.ts";
import { day, minute } from "../../../domain/time.ts";
import { admin, dataOf, done } from "../../client.ts";
import type { components } from "../../generated/admin.d.ts";
import { useLoad } from "../../load.ts";
import { NoticesCard } from "../../notices.tsx";
import {
  Bar,
  Card,
  FaultNotice,
  Figure,
  Head,
  LinkButton,
  Notice,
  number,
  Status,
  size,
} from "../../parts/basics.tsx";
import { Read, Table } from "../../parts/table.tsx";
import { fullTime, Time } from "../../parts/time.tsx";
import { to } from "../../places.ts";
import { OutcomeCard, type Range } from "../../statistics.tsx";
import { addingUp, inText, sizesWithSum } from "../../text.ts";
import { useOperator } from "./operator.tsx";

type Endpoint = components["schemas"]["Endpoint"];
type Finding = components["schemas"]["Finding"];
type Backup = components["schemas"]["Backup"];

function notices(limit: number, signal: AbortSignal) {
  return dataOf(admin.GET("/admin/v1/notices", { params: { query: { limit } }, signal }));
}

function statistics(range: Range, signal: AbortSignal) {
  return done(admin.GET("/admin/v1/statistics", { params: { query: { range } }, signal }));
}

/** The age from which pending deliveries are reported. */
const oldPendingMs = 15 * minute;

/** Checks whose findings the page shows in another form. */
const shownSeparately = ["webhooks", "disk_space"];
const atOnce = 100;

export function Overview() {
  const loaded = useLoad(
    async (signal) => {
      const [applications, endpoints, backups, backlog, storage, ready] = await Promise.all([
        done(admin.GET("/admin/v1/applications", { params: { query: { limit: atOnce } }, signal })),
        done(admin.GET("/admin/v1/endpoints", { params: { query: { limit: atOnce } }, signal })),
        // The page is shown even if the backups cannot be listed.
        done(admin.GET("/admin/v1/backups", { params: { query: { limit: 10 } }, signal })).catch(() => null),
        done(admin.GET("/admin/v1/backlog", { signal })),
        // The page is shown even if the disk cannot be read.
        done(admin.GET("/admin/v1/storage", { signal })).catch(() => null),
        admin.GET("/readyz", { signal }),
      ]);
      const why = ready.response.ok
        ? null
        : ((ready.error as { message?: string })?.message ?? "The server is not ready.");
      return { applications, endpoints, backups: backups?.data ?? null, backlog, storage, why };
    },
    [],
    ["deliveries", "applications", "backups"],
  );
  const findings = useLoad(
    (signal) => dataOf(admin.GET("/admin/v1/findings", { signal })),
    [],
    ["findings", "minute"],
  );
  return (
    <>
      <Head title="Overview" />
      <Read of={loaded}>
        {({ applications, endpoints, backups, backlog, storage, why }) => (
          <>
            <section class="stack" aria-label="What needs attention">
              <Attention
                troubled={endpoints.data}
                backups={backups}
                oldest={longPending(backlog.oldest_pending_at)}
                storage={storage && storageProblem(storage)}
                why={why}
                findings={findings.data ?? []}
              />
              {!findings.data && <FaultNotice fault={findings.fault} retry={findings.reload} />}
            </section>
            <div class="grid small">
              <Figure value={counted(applications)} label="Applications" href={to("/applications")} />
              <Figure
                value={number(backlog.pending)}
                label="Pending deliveries"
                href={to("/deliveries", { status: "pending" })}
              />
              <Figure value={counted(endpoints)} label="Endpoints with problems" />
              <StorageFigures storage={storage} backupAt={lastBackup(backups ?? [])} />
            </div>
            <OutcomeCard read={statistics} />
            <NoticesCard read={notices} />
            {endpoints.data.length > 0 && <Troubled endpoints={endpoints.data} />}
            <StorageKinds storage={storage} />
          </>
        )}
      </Read>
    </>
  );
}

interface Page {
  readonly data: readonly unknown[];
  readonly pagination: { readonly has_more: boolean };
}

/** The number of entries on one page, with `+` if there are more. */
function counted(page: Page): string {
  return `${number(page.data.length)}${page.pagination.has_more ? "+" : ""}`;
}

/** Returns the time of the oldest pending delivery if it is older than `oldPendingMs`, else null. */
function longPending(oldest: string | null): string | null {
  return oldest !== null && Date.parse(oldest) < Date.now() - oldPendingMs ? oldest : null;
}

/** When the last backup was completed; null without one. */
function lastBackup(backups: readonly Backup[]): string | null {
  return backups.find(({ status }) => status === "done")?.finished_at ?? null;
}

/** Something that needs attention, with a link to its remedy. */
interface Problem {
  readonly key: string;
  readonly tone: "bad" | "warn" | "";
  readonly title: ComponentChildren;
  readonly text?: ComponentChildren;
  readonly link?: readonly [href: string, text: string] | null;
}

interface AttentionProps {
  readonly troubled: readonly Endpoint[];
  /** The backups; null when they cannot be listed. */
  readonly backups: readonly Backup[] | null;
  /** When the oldest pending delivery was published; null unless it is old. */
  readonly oldest: string | null;
  readonly storage: Problem | null;
  readonly why: string | null;
  readonly findings: readonly Finding[];
}

const toBackups = [to("/backups"), "Go to backups"] as const;

/** The problems, most severe first. */
function Attention({ troubled, backups, oldest, storage, why, findings }: AttentionProps) {
  const { canChange } = useOperator();
  const [newest] = backups ?? [];
  const found = (status: Finding["status"], tone: "bad" | "warn") =>
    findings
      .filter((finding) => finding.status === status && !shownSeparately.includes(finding.check))
      .map((finding) => findingProblem(finding, tone));
  const problems: readonly (Problem | null | undefined | false | "")[] = [
    why && { key: "ready", tone: "bad", title: "The server is not ready", text: why },
    backups === null && {
      key: "backups",
      tone: "warn",
      title: "The backups cannot be listed",
      link: [to("/backups"), "View details"],
    },
    ...found("wrong", "bad"),
    storage?.tone === "bad" && storage,
    endpointProblem("disabled", troubled, canChange),
    storage?.tone === "warn" && storage,
    endpointProblem("failing", troubled, canChange),
    newest?.status === "failed" && {
      key: "backup",
      tone: "bad",
      title: "The last backup failed",
      text: newest.error,
      link: toBackups,
    },
    oldest && {
      key: "pending",
      tone: "warn",
      title: (
        <>
          A delivery has been pending since <Time at={oldest} />
        </>
      ),
      text: "Its endpoint is failing, disabled or slow.",
      link: [to("/deliveries", { status: "pending" }), "View pending deliveries"],
    },
    ...found("warning", "warn"),
    backups !== null && newest?.status !== "running" && backupAge(lastBackup(backups), canChange),
  ];
  const present = problems.filter((problem) => problem instanceof Object);
  if (present.length === 0) return <Notice tone="ok" title="Nothing needs attention." />;
  return (
    <>
      {present.map(({ key, tone, title, text, link }) => (
        <Notice key={key} tone={tone} title={title}>
          {text && <p>{text}</p>}
          {link && (
            <div class="row">
              <LinkButton href={link[0]}>{link[1]}</LinkButton>
            </div>
          )}
        </Notice>
      ))}
    </>
  );
}

/** The problem of the endpoints with this status; null without any. */
function endpointProblem(
  status: "disabled" | "failing",
  troubled: readonly Endpoint[],
  canChange: boolean,
): Problem | null {
  const endpoints = troubled.filter((endpoint) => endpoint.status === status);
  const [first, another] = endpoints;
  if (!first) return null;
  const names = endpoints.slice(0, 3).map(({ app_name }) => inText(app_name));
  const listed = names.join(", ") + (endpoints.length > 3 ? ` and ${endpoints.length - 3} more` : "");
  const title = another ? `${endpoints.length} endpoints are ${status}` : `An endpoint is ${status}`;
  const href = another ? to("/applications", { state: status }) : to(`/applications/${first.app_id}`);
  if (status === "disabled")
    return {
      key: status,
      tone: "bad",
      title,
      text: `${listed}. ${another ? "Their" : "Its"} deliveries are kept for 3 days.`,
      link: [href, canChange ? "View and enable" : "View"],
    };
  return {
    key: status,
    tone: "warn",
    title,
    text: `${listed}. An endpoint is disabled when all attempts have failed for 24 hours.`,
    link: [href, "View details"],
  };
}

/** Says that the last backup is old, or that there is none; null if it is recent. */
function backupAge(lastAt: string | null, canChange: boolean): Problem | null {
  if (lastAt !== null && Date.now() - Date.parse(lastAt) <= day) return null;
  const title = lastAt ? (
    <>
      The last backup was created <Time at={lastAt} />
    </>
  ) : (
    "No backups yet"
  );
  return {
    key: "no backup",
    tone: "",
    title,
    link: [to("/backups"), canChange ? "Create a backup" : "Go to backups"],
  };
}

function findingProblem(finding: Finding, tone: "bad" | "warn"): Problem {
  const { check, message, advice } = finding;
  return {
    key: `${check} ${message}`,
    tone,
    title: sentence(message),
    text: advice && sentence(advice),
    link: linkOf(finding),
  };
}

/** The page of the console that helps to fix a finding; null without one. */
function linkOf({ check }: Finding): readonly [string, string] | null {
  if (check === "certificates") return [to("/settings", { find: "tls" }), "View the TLS settings"];
  if (check === "settings" || check === "admin_host" || check === "public_url")
    return [to("/settings", { changed: "1" }), "View the settings"];
  return check === "data_directory" || check === "file_modes" || check === "search_index"
    ? [to("/backups"), "Create a backup first"]
    : null;
}

/** Adds a full stop and, except before a URL, a capital letter. Commands stay as they are. */
function sentence(text: string): string {
  if (/^(chmod|chown) /.test(text)) return text;
  return `${/^https?:/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1)}.`;
}

function Troubled({ endpoints }: { endpoints: readonly Endpoint[] }) {
  return (
    <Card isFlush title="Endpoints with problems">
      <Table
        label="Endpoints with problems"
        rows={endpoints}
        keyOf={({ app_id }) => app_id}
        linkOf={({ app_id }) => to(`/applications/${app_id}`)}
        columns={[
          { name: "State", show: ({ status }) => <Status word={status} /> },
          {
            name: "Application",
            isFilling: true,
            show: ({ app_id, app_name, last_failure }) => (
              <>
                <a class="cell" href={to(`/applications/${app_id}`)}>
                  {app_name}
                </a>
                <small class="cell muted only-narrow">{last_failure?.error}</small>
              </>
            ),
          },
          {
            name: "Last failure",
            hide: "narrow",
            show: ({ last_failure }) => <span class="cell long">{last_failure?.error}</span>,
          },
          { name: "Failures", hide: "narrow", isNumber: true, show: ({ failures }) => number(failures) },
          {
            name: "Since",
            isNumber: true,
            show: ({ failing_since }) => failing_since && <Time at={failing_since} />,
          },
        ]}
      />
    </Card>
  );
}

type Storage = Omit<components["schemas"]["Storage"], "message">;

const soonMs = 3 * day;
const foreseenMs = 30 * day;

/** The problem of the data directory's disk; null without a problem, and when the disk is unknown. */
function storageProblem({ free_bytes, database_bytes, full_at }: Storage): Problem | null {
  if (free_bytes === null) return null;
  const free = `${size(free_bytes)} are free.`;
  const problem = (tone: "bad" | "warn", title: string, why: string) => {
    const text = `${why} Delete old backups, keep deliveries for fewer days, or enlarge the disk.`;
    return { key: "storage", tone, title, text, link: toBackups };
  };
  if (free_bytes < leastFreeBytes)
    return problem("bad", "The disk is nearly full", `${free} On a full disk all writes fail.`);
  const leftMs = full_at === null ? Number.POSITIVE_INFINITY : Date.parse(full_at) - Date.now();
  if (full_at !== null && leftMs < foreseenMs) {
    const why = `At the rate of the last week, it will be full at ${fullTime(full_at)}. ${free}`;
    return problem(leftMs < soonMs ? "bad" : "warn", "The disk will be full", why);
  }
  if (free_bytes < (database_bytes ?? 0) + leastFreeBytes)
    return problem("warn", "Not enough disk space for another backup", free);
  return null;
}

/** The free space, when it will run out, the size of the database, and the time of the last backup. */
function StorageFigures({ storage, backupAt }: { storage: Storage | null; backupAt: string | null }) {
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

/** The size of each kind of data in the database. Renders nothing until the sizes are measured. */
function StorageKinds({ storage }: { storage: Storage | null }) {
  const { kinds = null, kinds_measured_at = null } = storage ?? {};
  if (kinds === null) return null;
  const sorted = Object.entries(kinds).sort(([, a], [, b]) => b - a);
  const bytes = sorted.map(([, bytes]) => bytes);
  const sizes = sizesWithSum(bytes);
  const percents = [...addingUp(bytes, 100), 100];
  // The last row is the sum.
  const rows = [...sorted.map(([kind]) => kind), "all"].map((kind, i) => {
    return { kind, size: sizes[i] ?? "", percent: percents[i] ?? 0 };
  });
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
          {
            name: "Data",
            show: ({ kind }) => (kind === "all" ? <strong>In all</strong> : (kindNames[kind] ?? kind)),
          },
          {
            name: "Share",
            hide: "narrow",
            show: ({ kind, percent }) =>
              kind !== "all" && <Bar isShare part={percent / 100} label={`Share of ${kind}`} />,
          },
          { name: "%", isNumber: true, show: ({ percent }) => percent },
          { name: "Size", isNumber: true, show: ({ size }) => size },
        ]}
      />
    </Card>
  );
}
