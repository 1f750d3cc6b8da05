import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { type Loaded, useLoad } from "../load.ts";
import { Card, Empty, FaultNotice, Loading } from "../parts/basics.tsx";
import { Table } from "../parts/table.tsx";
import { to } from "../places.ts";
import { useApplications } from "./application-names.tsx";
import { deliveryColumns } from "./list.tsx";
import { type Delivery, type DeliveryQuery, momentOf, useDeliveries } from "./source.ts";

const shown = 8;
const pageSize = 100;

/** The latest deliveries that fit a query, as they happen; the children stand in place of none. */
export function LatestDeliveries({
  query = {},
  children,
}: {
  query?: { application_id?: string };
  children: ComponentChildren;
}) {
  const source = useDeliveries();
  const asked: DeliveryQuery = { ...query, limit: shown };
  const loaded = useLoad(async (signal) => (await source.list(asked, signal)).data, [query], ["deliveries"]);
  const link = <a href={to("/deliveries", { ...query, live: "1" })}>Watch live</a>;
  return (
    <DeliveryCard title="Latest deliveries" of={loaded} link={link}>
      {children}
    </DeliveryCard>
  );
}

/** The deliveries of an event that was published now, as they happen. */
export function EventDeliveries({ type, eventId }: { type: string; eventId: string }) {
  const source = useDeliveries();
  // As soon as one is known, the others are looked for beside it.
  const moment = useRef<DeliveryQuery>({ type });
  const loaded = useLoad(
    async (signal) => {
      const { data } = await source.list({ ...moment.current, limit: pageSize }, signal);
      const found = data.filter(({ event_id }) => event_id === eventId);
      if (found[0]) moment.current = momentOf(found[0]);
      return found;
    },
    [eventId],
    ["deliveries"],
  );
  const [one] = loaded.data ?? [];
  return (
    <DeliveryCard
      title="Its deliveries"
      of={loaded}
      link={one && <a href={to("/deliveries", momentOf(one))}>See all</a>}
    >
      <p>They appear here in a moment.</p>
    </DeliveryCard>
  );
}

function DeliveryCard({
  title,
  of: { data, fault },
  link,
  children,
}: {
  title: string;
  of: Pick<Loaded<readonly Delivery[]>, "data" | "fault">;
  link: ComponentChildren;
  children: ComponentChildren;
}) {
  const rows = (data ?? []).slice(0, shown);
  const applicationOf = useApplications(rows);
  const isOfMany = new Set(rows.map(({ app_id }) => app_id)).size > 1;
  return (
    <Card isFlush title={title} actions={link}>
      <FaultNotice fault={data ? null : fault} />
      {!data && !fault && <Loading />}
      {data && rows.length === 0 && <Empty title="Nothing was sent yet">{children}</Empty>}
      {rows.length > 0 && (
        <Table
          label={title}
          rows={rows}
          keyOf={({ id }) => id}
          linkOf={({ id }) => to(`/deliveries/${id}`)}
          columns={deliveryColumns(isOfMany ? applicationOf : undefined)}
        />
      )}
    </Card>
  );
}
