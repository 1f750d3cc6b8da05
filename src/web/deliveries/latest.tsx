import type { ComponentChildren } from "preact";
import { type Loaded, useLoad } from "../load.ts";
import { Card, Empty } from "../parts/basics.tsx";
import { List } from "../parts/table.tsx";
import { to } from "../places.ts";
import { useApplications } from "./application-names.tsx";
import { deliveryColumns } from "./list.tsx";
import { type Delivery, type DeliveryQuery, useDeliveries } from "./source.ts";

const shown = 8;

/** The latest deliveries of a query, updated live. The children are shown when there are none. */
export function LatestDeliveries({
  query = {},
  children,
}: {
  query?: { application_id?: string };
  children: ComponentChildren;
}) {
  const loaded = useLatest(query);
  const link = <a href={to("/deliveries", { ...query, live: "1" })}>Watch live</a>;
  return (
    <DeliveryCard title="Latest deliveries" of={loaded} link={link}>
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
  const asked = { ...query, limit: shown };
  return useLoad(async (signal) => (await source.list(asked, signal)).data, [query], ["deliveries"]);
}

function DeliveryCard({
  title,
  of,
  link,
  children,
}: {
  title: string;
  of: Loaded<readonly Delivery[]>;
  link: ComponentChildren;
  children: ComponentChildren;
}) {
  const rows = of.data ?? [];
  const applicationOf = useApplications(rows);
  const isOfMany = new Set(rows.map(({ app_id }) => app_id)).size > 1;
  return (
    <Card isFlush title={title} actions={link}>
      <List
        of={of}
        empty={<Empty title="No deliveries yet">{children}</Empty>}
        label={title}
        rows={rows}
        keyOf={({ id }) => id}
        linkOf={({ id }) => to(`/deliveries/${id}`)}
        columns={deliveryColumns(isOfMany ? applicationOf : undefined)}
      />
    </Card>
  );
}
