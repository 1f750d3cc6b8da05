import { RefreshCw, X } from "lucide";
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { day, hour, minute } from "../../domain/time.ts";
import { nonEmpty } from "../client.ts";
import { type Loaded, type Rows, useList, useLoad } from "../load.ts";
import { Button, Card, Empty, FaultNotice, Head, number, Status } from "../parts/basics.tsx";
import { Check, NoMatch, QueryField, QuerySelect, Select } from "../parts/form.tsx";
import { type Column, List, later } from "../parts/table.tsx";
import { duration, Time } from "../parts/time.tsx";
import { to, useQuery } from "../places.ts";
import { QueryUser, UserNames, useUsers } from "../users.tsx";
import { ApplicationField, type ApplicationOf, useApplications } from "./applications.tsx";
import { type Delivery, type DeliveryQuery, useDeliveries } from "./source.ts";

export const ReplayDialog = later(async () => (await import("./replay.tsx")).ReplayDialog);

const statuses = ["pending", "delivered", "failed", "expired", "canceled", "missed", "failing"] as const;
/** The periods that a filter offers, with their lengths. */
const periods = [
  ["15m", "Last 15 minutes", 15 * minute],
  ["1h", "Last hour", hour],
  ["24h", "Last 24 hours", day],
  ["7d", "Last 7 days", 7 * day],
] as const;
/** The most rows of the live tail. */
const tailRows = 10_000;

/** The result of the last attempt, in a few words. A delivery that is sent again was answered before. */
function lastResponse({ status, attempts }: Pick<Delivery, "status" | "attempts">): string {
  const last = attempts.at(-1);
  if (!last) return "not attempted yet";
  if (last.outcome === "ok" && status !== "delivered") return `sent before: ${last.status}`;
  return last.status === null ? last.outcome : `${last.status} in ${duration(last.duration_ms)}`;
}

/** The state of a delivery. The state is not highlighted before the first attempt. */
function DeliveryStatus({ of: { status, attempts } }: { of: Delivery }) {
  const isNew = status === "pending" && attempts.length === 0;
  return <Status word={status} {...(isNew && { tone: "" })} />;
}

/** The columns of a list of deliveries; `applicationOf` adds a column for the application. */
function useDeliveryColumns(
  rows: readonly Delivery[],
  applicationOf: ApplicationOf | undefined,
): readonly Column<Delivery>[] {
  const users = useUsers(rows.map(({ broadcaster_user_id }) => broadcaster_user_id));
  const channelOf = ({ broadcaster_user_id: id, broadcaster_username: name }: Delivery) => (
    <UserNames user={users.get(id)} or={name ?? String(id)} />
  );
  return [
    { name: "State", show: (row) => <DeliveryStatus of={row} /> },
    {
      name: "Event",
      isFilling: true,
      show: (row) => (
        <>
          <a class="cell" href={to(`/deliveries/${row.id}`)}>
            {row.type}
          </a>
          <small class="cell muted only-medium">
            {channelOf(row)}
            {applicationOf && (
              <span class="only-narrow">
                {" "}
                · <bdi>{applicationOf(row)}</bdi>
              </span>
            )}
          </small>
          <small class="cell muted only-narrow">
            <Time at={row.created_at} /> · {lastResponse(row)}
          </small>
        </>
      ),
    },
    applicationOf
      ? {
          name: "Application",
          hide: "narrow",
          show: (row) => (
            <a class="cell" href={to(`/applications/${row.app_id}`)}>
              {applicationOf(row)}
            </a>
          ),
        }
      : { name: "Delivery", hide: "medium", show: ({ id }) => <code class="muted">{id}</code> },
    {
      name: "Channel",
      hide: "medium",
      show: (row) => (
        <a class="cell" href={to("/deliveries", { broadcaster: String(row.broadcaster_user_id) })}>
          {channelOf(row)}
        </a>
      ),
    },
    { name: "Last response", hide: "narrow", show: (row) => <span class="cell">{lastResponse(row)}</span> },
    { name: "Attempts", hide: "medium", isNumber: true, show: ({ attempts }) => attempts.length },
    {
      name: "Published",
      hide: "narrow",
      isNumber: true,
      show: ({ created_at }) => <Time at={created_at} />,
    },
  ];
}

/** Converts the filters in the URL into a query of the API. */
function queryOf(filters: Readonly<Record<string, string>>): DeliveryQuery {
  const { status, type, subscription_id, event_id, application_id, broadcaster, since, after, before } =
    filters;
  const [, , ms] = periods.find(([name]) => name === since) ?? [];
  return nonEmpty({
    status: statuses.find((known) => known === status),
    type,
    subscription_id,
    event_id,
    application_id,
    broadcaster: broadcaster && Number(broadcaster),
    after: ms === undefined ? after : new Date(Date.now() - ms).toISOString(),
    before,
  });
}

export function DeliveriesPage({ types = [] }: DeliveriesProps) {
  const source = useDeliveries();
  const [filters, setFilters, clear] = useQuery();
  const [isReplaying, setReplaying] = useState(false);
  const isLive = filters["live"] === "1";
  const { list, rows, isFresh, isSample } = useDeliveryRows(filters, isLive);
  const columns = useDeliveryColumns(rows, useApplications(rows));
  const isFiltered = Object.keys(filters).some((name) => name !== "live");
  return (
    <>
      <Head
        title="Deliveries"
        actions={
          source.canSend &&
          !filters["event_id"] && (
            <Button icon={RefreshCw} onClick={() => setReplaying(true)}>
              Replay a range
            </Button>
          )
        }
      >
        Sent and pending deliveries{source.isOfAll && " of all applications"}, newest first.
      </Head>
      <div class="filters">
        <QuerySelect
          label="State"
          name="status"
          options={[["", "Any"], ...statuses.map((status) => [status, status] as const)]}
        />
        <Select
          label="Published"
          value={filters["since"] ?? (filters["after"] ? "range" : "")}
          options={[
            ["", "Any time"],
            ...periods.map(([name, words]) => [name, words] as const),
            ...(filters["after"] ? [["range", "Custom range"] as const] : []),
          ]}
          onInput={(since) => setFilters({ since, after: null, before: null })}
        />
        <QueryField label="Event type" name="type" placeholder="Any" list={types} />
        {source.isOfAll && (
          <ApplicationField
            value={filters["application_id"] ?? ""}
            onInput={(application_id) => setFilters({ application_id })}
          />
        )}
        <QueryUser label="Channel" name="broadcaster" />
        <QueryField label="Subscription" name="subscription_id" placeholder="Id" />
        <QueryField label="Event" name="event_id" placeholder="Id" />
      </div>
      <Card
        isFlush
        actions={
          <>
            <Check label="Live" value={isLive} onInput={(live) => setFilters({ live: live ? "1" : null })} />
            {isFiltered && (
              <Button isSmall kind="quiet" icon={X} onClick={clear}>
                Clear filters
              </Button>
            )}
          </>
        }
      >
        {isSample && <p class="sample muted">Too many deliveries to show them all: this is a sample.</p>}
        {list.data !== null && <FaultNotice fault={list.fault} />}
        {!isLive && list.data && <NewDeliveries filters={filters} rows={rows} onShow={list.reload} />}
        <List
          of={list}
          {...(!isLive && { more: list.more })}
          empty={
            isFiltered ? (
              <NoMatch of="deliveries">
                <NotSent eventId={filters["event_id"]}>Remove a filter, or choose a longer period.</NotSent>
              </NoMatch>
            ) : (
              <Empty
                title="No deliveries yet"
                text="Deliveries appear here as soon as events of a subscription are published."
              />
            )
          }
          label="Deliveries"
          columns={columns}
          rows={rows}
          keyOf={({ id }) => id}
          linkOf={({ id }) => to(`/deliveries/${id}`)}
          isFresh={isFresh}
        />
      </Card>
      {isReplaying && <ReplayDialog filters={queryOf(filters)} onClose={() => setReplaying(false)} />}
    </>
  );
}

/** The most deliveries that are counted as new. */
const mostNew = 100;

interface NewDeliveriesProps {
  readonly filters: Readonly<Record<string, string>>;
  readonly rows: readonly Delivery[];
  readonly onShow: () => void;
}

/** Says how many deliveries are newer than the rows of a list that is not live. Renders nothing when none is. */
function NewDeliveries({ filters, rows, onShow }: NewDeliveriesProps) {
  const source = useDeliveries();
  const { data } = useLoad(
    (signal) => source.list({ ...queryOf(filters), limit: mostNew }, signal),
    [filters],
    ["deliveries"],
  );
  const known = new Set(rows.map(({ id }) => id));
  const count = (data?.data ?? []).findIndex(({ id }) => known.has(id));
  const fresh = count === -1 ? (data?.data.length ?? 0) : count;
  if (fresh === 0) return null;
  return (
    <p class="sample" role="status">
      <Button isSmall onClick={onShow}>
        {fresh === mostNew ? `${mostNew} or more new` : `${number(fresh)} new`}
      </Button>
    </p>
  );
}

interface DeliveriesProps {
  /** Names of event types to offer. */
  readonly types?: readonly string[];
}

/** The rows of the live tail. */
interface Tail {
  readonly key: string;
  readonly rows: readonly Delivery[];
  /** The ids that the last load added. */
  readonly fresh: ReadonlySet<string>;
  /** The number of further loads for which the list is marked as a sample. */
  readonly sampleFor: number;
}

/** Says why an event was not sent, if that is known. */
function NotSent({ eventId, children }: { eventId: string | undefined; children: ComponentChildren }) {
  const source = useDeliveries();
  const found = useLoad(
    async (signal) => (eventId ? await source.list({ event_id: eventId, limit: 1 }, signal) : null),
    [eventId],
  );
  return <>{found.data?.not_sent ?? children}</>;
}

/** The number of loads for which the mark of a sample stays, so that the mark does not flicker. */
const sampleReadings = 10;

/** The rows for the filters: the requested pages, or the live tail, which reloads the first page. */
function useDeliveryRows(filters: Readonly<Record<string, string>>, isLive: boolean) {
  const source = useDeliveries();
  const list = useList<Delivery>(
    (page, signal) => source.list({ ...queryOf(filters), ...page }, signal),
    [filters],
    isLive ? ["deliveries"] : null,
  );
  const [tail, setTail] = useState<Tail | null>(null);
  const key = JSON.stringify(filters);
  const { data } = list;
  useEffect(() => {
    if (data) setTail((before) => grown(before?.key === key ? before : null, key, data));
  }, [data, key]);
  const liveTail = isLive && tail?.key === key ? tail : null;
  return {
    list,
    rows: liveTail?.rows ?? list.rows,
    isFresh: ({ id }: Delivery) => liveTail?.fresh.has(id) ?? false,
    isSample: (liveTail?.sampleFor ?? 0) > 0,
  };
}

/** Puts the rows of the last load in front of the tail. */
function grown(before: Tail | null, key: string, { rows: read, cursor }: Rows<Delivery>): Tail {
  const ids = new Set(read.map(({ id }) => id));
  const known = new Set(before?.rows.map(({ id }) => id));
  const fresh = new Set(before ? [...ids].filter((id) => !known.has(id)) : []);
  const rows = [...read, ...(before?.rows ?? []).filter(({ id }) => !ids.has(id))].slice(0, tailRows);
  // If all rows are new and more exist, rows in between are missing. A busy server returns pages with fewer rows.
  const isSample = read.length > 0 && fresh.size === read.length && cursor !== "";
  return {
    key,
    rows,
    fresh,
    sampleFor: isSample ? sampleReadings : Math.max(0, (before?.sampleFor ?? 0) - 1),
  };
}

const mostLatest = 8;

/** The latest deliveries of a query, updated live. Without deliveries, the children are shown. */
export function LatestDeliveries({
  query = {},
  children,
}: {
  query?: { application_id?: string };
  children: ComponentChildren;
}) {
  const loaded = useLatest(query);
  const link = <a href={to("/deliveries", { ...query, live: "1" })}>Watch live</a>;
  const isOfOne = query.application_id !== undefined;
  return (
    <DeliveryCard title="Latest deliveries" of={loaded} link={link} isOfOne={isOfOne}>
      {children}
    </DeliveryCard>
  );
}

/** The deliveries of an event that was just published, updated live. */
export function EventDeliveries({ id }: { id: string }) {
  const query = { event_id: id };
  const link = <a href={to("/deliveries", query)}>See all</a>;
  return (
    <DeliveryCard title="Deliveries of the event" of={useLatest(query)} link={link}>
      <p>Deliveries appear here in a moment.</p>
    </DeliveryCard>
  );
}

function useLatest(query: DeliveryQuery) {
  const source = useDeliveries();
  const latest = { ...query, limit: mostLatest };
  return useLoad(async (signal) => (await source.list(latest, signal)).data, [query], ["deliveries"]);
}

function DeliveryCard({
  title,
  of,
  link,
  isOfOne = false,
  children,
}: {
  title: string;
  of: Loaded<readonly Delivery[]>;
  link: ComponentChildren;
  /** The page is of one application: its name is not repeated. */
  isOfOne?: boolean;
  children: ComponentChildren;
}) {
  const rows = of.data ?? [];
  const applicationOf = useApplications(rows);
  const columns = useDeliveryColumns(rows, isOfOne ? undefined : applicationOf);
  return (
    <Card isFlush title={title} actions={link}>
      <List
        of={of}
        empty={<Empty title="No deliveries yet">{children}</Empty>}
        label={title}
        rows={rows}
        keyOf={({ id }) => id}
        linkOf={({ id }) => to(`/deliveries/${id}`)}
        columns={columns}
      />
    </Card>
  );
}
