import { RefreshCw, X } from "lucide";
import { useEffect, useState } from "preact/hooks";
import { type Rows, useList } from "../list.ts";
import { Button, Card, Empty, FaultNotice, Head, Status } from "../parts/basics.tsx";
import { Check, QueryField, QuerySelect, Select } from "../parts/form.tsx";
import { type Column, List } from "../parts/table.tsx";
import { duration, Time } from "../parts/time.tsx";
import { to, useQuery } from "../places.ts";
import { ApplicationField, type ApplicationOf, useApplications } from "./application-names.tsx";
import { ReplayDialog } from "./replay.tsx";
import { type Delivery, type DeliveryQuery, useDeliveries } from "./source.ts";

const statuses = ["pending", "delivered", "failed", "expired", "canceled"] as const;
const times = { "15m": 15, "1h": 60, "24h": 1_440, "7d": 10_080 } as const;
/** The live tail keeps this many rows. */
const tailRows = 10_000;

/** What came of the last attempt, in a few words. */
function lastAnswer({ attempts }: Pick<Delivery, "attempts">): string {
  const last = attempts.at(-1);
  if (!last) return "not tried yet";
  return last.status === null ? last.outcome : `${last.status} in ${duration(last.duration_ms)}`;
}

/** The state of a delivery. One that waits for its first attempt is nothing to look at. */
function DeliveryStatus({ of: { status, attempts } }: { of: Delivery }) {
  const isNew = status === "pending" && attempts.length === 0;
  return <Status word={status} {...(isNew && { tone: "" })} />;
}

/** The columns of a list of deliveries; with `applicationOf`, of several applications. */
export function deliveryColumns(applicationOf?: ApplicationOf): readonly Column<Delivery>[] {
  return [
    { name: "State", show: (one) => <DeliveryStatus of={one} /> },
    {
      name: "Event",
      isFilling: true,
      show: (one) => (
        <>
          <a class="cell" href={to(`/deliveries/${one.id}`)}>
            {one.type}
          </a>
          <small class="cell muted only-narrow">
            <Time at={one.created_at} /> · {lastAnswer(one)}
            {applicationOf && <> · {applicationOf(one)}</>}
          </small>
        </>
      ),
    },
    applicationOf
      ? {
          name: "Application",
          hide: "narrow",
          show: (one) => (
            <a class="cell" href={to(`/applications/${one.app_id}`)}>
              {applicationOf(one)}
            </a>
          ),
        }
      : { name: "Delivery", hide: "medium", show: ({ id }) => <code class="muted">{id}</code> },
    { name: "Last answer", hide: "narrow", show: (one) => <span class="cell">{lastAnswer(one)}</span> },
    { name: "Attempts", hide: "medium", isNumber: true, show: ({ attempts }) => attempts.length },
    {
      name: "Published",
      hide: "narrow",
      isNumber: true,
      show: ({ created_at }) => <Time at={created_at} />,
    },
  ];
}

/** The query of the API for the filters in the address. */
function queryOf(filters: Readonly<Record<string, string>>): DeliveryQuery {
  const { status, type, subscription_id, event_id, application_id, since, after, before } = filters;
  const minutes = since && since in times ? times[since as keyof typeof times] : null;
  const from = minutes === null ? after : new Date(Date.now() - minutes * 60_000).toISOString();
  const known = statuses.find((one) => one === status);
  return {
    ...(known && { status: known }),
    ...(type && { type }),
    ...(subscription_id && { subscription_id }),
    ...(event_id && { event_id }),
    ...(application_id && { application_id }),
    ...(from && { after: from }),
    ...(before && { before }),
  };
}

export function DeliveriesPage({ types = [] }: DeliveriesProps) {
  const source = useDeliveries();
  const [filters, setFilters, clear] = useQuery();
  const [isReplaying, setReplaying] = useState(false);
  const isLive = filters["live"] === "1";
  const { list, rows, isFresh, isSample } = useDeliveryRows(filters, isLive);
  const columns = deliveryColumns(useApplications(rows));
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
        Every event that was sent or is to be sent{source.isOfAll && ", of all applications"}, the newest
        first.
      </Head>
      <div class="filters">
        <QuerySelect
          label="State"
          name="status"
          options={[["", "Any"], ...statuses.map((one) => [one, one] as const)]}
        />
        <Select
          label="Published"
          value={filters["since"] ?? (filters["after"] ? "range" : "")}
          options={[
            ["", "Any time"],
            ["15m", "Last 15 minutes"],
            ["1h", "Last hour"],
            ["24h", "Last 24 hours"],
            ["7d", "Last 7 days"],
            ...(filters["after"] ? [["range", "As in the link"] as const] : []),
          ]}
          onChange={(since) => setFilters({ since, after: null, before: null })}
        />
        <QueryField label="Event type" name="type" placeholder="Any" list={types} />
        {source.isOfAll && (
          <ApplicationField
            id={filters["application_id"] ?? ""}
            onChange={(application_id) => setFilters({ application_id })}
          />
        )}
        <QueryField label="Subscription" name="subscription_id" placeholder="Id of one" />
        <QueryField label="Event" name="event_id" placeholder="Id of one" />
      </div>
      <Card
        isFlush
        actions={
          <>
            <Check
              label="Live"
              checked={isLive}
              onChange={(live) => setFilters({ live: live ? "1" : null })}
            />
            {isFiltered && (
              <Button isSmall kind="quiet" icon={X} onClick={clear}>
                Clear filters
              </Button>
            )}
          </>
        }
      >
        {isSample && <p class="sample muted">More happens than can be shown: this is a sample.</p>}
        {list.data !== null && <FaultNotice fault={list.fault} />}
        <List
          of={list}
          {...(!isLive && { more: list.more })}
          empty={
            isFiltered ? (
              <Empty
                title="No delivery fits these filters"
                text="Take one of them away, or choose a longer time."
              />
            ) : (
              <Empty
                title="Nothing was sent yet"
                text="A delivery appears here as soon as an event of a subscription happens."
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

interface DeliveriesProps {
  /** Names of event types to offer. */
  readonly types?: readonly string[];
}

/** What the live tail shows of earlier readings. */
interface Tail {
  readonly key: string;
  readonly rows: readonly Delivery[];
  /** The ids that were not there before. */
  readonly fresh: ReadonlySet<string>;
  /** For so many readings it is said that more happens than is read. */
  readonly sampleFor: number;
}

/** It is said for some seconds, so that it does not come and go. */
const sampleReadings = 10;

/** The rows for the filters: as far as they were asked for, or the live tail, whose first page is read anew. */
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
  const shown = isLive && tail?.key === key ? tail : null;
  return {
    list,
    rows: shown?.rows ?? list.rows,
    isFresh: ({ id }: Delivery) => shown?.fresh.has(id) ?? false,
    isSample: (shown?.sampleFor ?? 0) > 0,
  };
}

/** The tail with what was read now in front. */
function grown(before: Tail | null, key: string, { rows: read, cursor }: Rows<Delivery>): Tail {
  const ids = new Set(read.map(({ id }) => id));
  const known = new Set(before?.rows.map(({ id }) => id));
  const fresh = new Set(before ? [...ids].filter((id) => !known.has(id)) : []);
  const rows = [...read, ...(before?.rows ?? []).filter(({ id }) => !ids.has(id))].slice(0, tailRows);
  // No row was known, and there are more. A busy server answers with fewer rows than a page has.
  const isSample = read.length > 0 && fresh.size === read.length && cursor !== "";
  return {
    key,
    rows,
    fresh,
    sampleFor: isSample ? sampleReadings : Math.max(0, (before?.sampleFor ?? 0) - 1),
  };
}
