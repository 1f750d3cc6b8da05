import type { ComponentChildren } from "preact";
import { admin, done } from "../../client.ts";
import { useDeliveries } from "../../deliveries/source.ts";
import type { components } from "../../generated/admin.d.ts";
import { useLoad } from "../../load.ts";
import { NoticesCard } from "../../notices.tsx";
import { Card, FaultNotice, Figure, Head, LinkButton, Notice, number, Status } from "../../parts/basics.tsx";
import { Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { to } from "../../places.ts";
import { OutcomeCard, type Range } from "../../statistics/plots.tsx";
import { StorageFigures, type StorageProblem, storageProblem } from "../../storage.tsx";
import { applicationsNow, endpointsNow } from "./names.ts";
import { useOperator } from "./operator.tsx";

type Endpoint = components["schemas"]["Endpoint"];
type Backup = components["schemas"]["Backup"];

async function notices(limit: number, signal: AbortSignal) {
  return (await done(admin.GET("/admin/v1/notices", { params: { query: { limit } }, signal }))).data;
}

function statistics(range: Range, signal: AbortSignal) {
  return done(admin.GET("/admin/v1/statistics", { params: { query: { range } }, signal }));
}
const dayMs = 86_400_000;
/** A pending delivery that is so old waits for something that ought to be looked at. */
const oldPendingMs = 900_000;

export function Overview() {
  const source = useDeliveries();
  const loaded = useLoad(
    async (signal) => {
      const [applications, endpoints, backups, pending, storage, ready] = await Promise.all([
        applicationsNow(signal),
        endpointsNow(signal),
        done(admin.GET("/admin/v1/backups", { params: { query: { limit: 10 } }, signal })),
        source.list({ status: "pending", limit: 100 }, signal),
        // A disk that cannot be read does not hide the rest.
        done(admin.GET("/admin/v1/storage", { signal })).catch(() => null),
        admin.GET("/readyz", { signal }),
      ]);
      const why = ready.response.ok
        ? null
        : ((ready.error as { message?: string })?.message ?? "It is not ready.");
      return {
        applications,
        endpoints,
        backups: backups.data,
        pending: pending.data,
        storage,
        isMorePending: pending.pagination.has_more,
        why,
      };
    },
    [],
    "live",
  );
  const known = loaded.data;
  const names = new Map(known?.applications.map(({ id, name }) => [id, name]));
  const troubled = [...(known?.endpoints.values() ?? [])].filter(({ status }) => status !== "enabled");
  const oldest = known?.pending.at(-1);
  return (
    <>
      <Head title="Overview" />
      <FaultNotice fault={known ? null : loaded.fault} retry={loaded.reload} />
      {known && (
        <>
          <section class="stack" aria-label="What needs attention">
            <Attention
              troubled={troubled}
              names={names}
              backups={known.backups}
              oldest={oldest?.created_at ?? null}
              storage={known.storage && storageProblem(known.storage)}
              why={known.why}
            />
          </section>
          <div class="grid small">
            <Figure
              value={number(known.applications.length)}
              label={`Applications, ${number(known.applications.filter(({ disabled }) => disabled).length)} disabled`}
            />
            <Figure
              value={`${number(known.pending.length)}${known.isMorePending ? "+" : ""}`}
              label="Pending deliveries"
            />
            <Figure value={number(troubled.length)} label="Endpoints in trouble" />
            <StorageFigures storage={known.storage} backupAt={lastBackup(known.backups)} />
          </div>
          <OutcomeCard read={statistics} />
          <NoticesCard read={notices} />
          {troubled.length > 0 && <Troubled endpoints={troubled} names={names} />}
        </>
      )}
    </>
  );
}

interface AttentionProps {
  readonly troubled: readonly Endpoint[];
  readonly names: ReadonlyMap<string, string>;
  readonly backups: readonly Backup[];
  readonly oldest: string | null;
  readonly storage: StorageProblem | null;
  readonly why: string | null;
}

/** When the last backup was done; null: there is none. */
function lastBackup(backups: readonly Backup[]): string | null {
  return backups.find(({ status }) => status === "done")?.finished_at ?? null;
}

/** What ought to be looked at, the worst first, each with a link to where it is mended. */
function Attention({ troubled, names, backups, oldest, storage, why }: AttentionProps) {
  const { canChange } = useOperator();
  const disabled = troubled.filter(({ status }) => status === "disabled");
  const failing = troubled.filter(({ status }) => status === "failing");
  const [newest] = backups;
  const lastAt = lastBackup(backups);
  const isBackupOld = lastAt === null || Date.now() - Date.parse(lastAt) > dayMs;
  const first = (endpoints: readonly Endpoint[]) => {
    const [one] = endpoints;
    return one && to(`/applications/${one.app_id}`);
  };
  const listed = (endpoints: readonly Endpoint[]) => {
    const shown = endpoints.slice(0, 3).map(({ app_id }) => names.get(app_id) ?? app_id);
    return endpoints.length > 3 ? `${shown.join(", ")} and ${endpoints.length - 3} more` : shown.join(", ");
  };
  const entries: ComponentChildren[] = [];
  const add = (
    tone: "bad" | "warn" | "",
    title: ComponentChildren,
    text: ComponentChildren,
    link: readonly [string, string] | null,
  ) =>
    entries.push(
      <Notice key={entries.length} tone={tone} title={title}>
        {text && <p>{text}</p>}
        {link && (
          <div class="row">
            <LinkButton href={link[0]}>{link[1]}</LinkButton>
          </div>
        )}
      </Notice>,
    );
  const addStorage = ({ tone, title, text }: StorageProblem) =>
    add(tone, title, text, [to("/backups"), "Go to backups"]);
  if (why) add("bad", "The server is not ready", why, null);
  if (storage?.tone === "bad") addStorage(storage);
  if (disabled.length > 0) {
    const title =
      disabled.length === 1 ? "An endpoint is disabled" : `${disabled.length} endpoints are disabled`;
    add("bad", title, `${listed(disabled)}. What happens for them is kept for 3 days.`, [
      disabled.length === 1 ? (first(disabled) ?? "") : to("/applications", { state: "disabled" }),
      canChange ? "Look and enable" : "Look at it",
    ]);
  }
  if (storage?.tone === "warn") addStorage(storage);
  if (failing.length > 0) {
    const title = failing.length === 1 ? "An endpoint is failing" : `${failing.length} endpoints are failing`;
    add("warn", title, `${listed(failing)}. It is disabled after failing everything for 24 hours.`, [
      failing.length === 1 ? (first(failing) ?? "") : to("/applications", { state: "failing" }),
      "Find out why",
    ]);
  }
  if (newest?.status === "failed")
    add("bad", "The last backup failed", newest.error ?? "", [to("/backups"), "Go to backups"]);
  if (oldest && Date.now() - Date.parse(oldest) > oldPendingMs) {
    add(
      "warn",
      <>
        A delivery waits since <Time at={oldest} />
      </>,
      "Its endpoint is failing, disabled or slow.",
      [to("/deliveries", { status: "pending" }), "See what waits"],
    );
  }
  if (isBackupOld && newest?.status !== "running") {
    const title = lastAt ? (
      <>
        The last backup was made <Time at={lastAt} />
      </>
    ) : (
      "There is no backup yet"
    );
    add("", title, null, [to("/backups"), canChange ? "Make a backup" : "Go to backups"]);
  }
  if (entries.length === 0) return <Notice tone="ok" title="Nothing needs attention." />;
  return <>{entries}</>;
}

function Troubled({
  endpoints,
  names,
}: {
  endpoints: readonly Endpoint[];
  names: ReadonlyMap<string, string>;
}) {
  return (
    <Card isFlush title="Endpoints in trouble">
      <Table
        label="Endpoints in trouble"
        rows={endpoints}
        keyOf={({ app_id }) => app_id}
        linkOf={({ app_id }) => to(`/applications/${app_id}`)}
        columns={[
          { name: "State", show: ({ status }) => <Status word={status} /> },
          {
            name: "Application",
            show: ({ app_id }) => (
              <a class="cell" href={to(`/applications/${app_id}`)}>
                {names.get(app_id) ?? app_id}
              </a>
            ),
          },
          {
            name: "Last failure",
            hide: "narrow",
            show: ({ last_failure }) => <span class="cell long">{last_failure?.error}</span>,
          },
          { name: "Failures", isNumber: true, show: ({ failures }) => number(failures) },
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
