import type { ComponentChildren } from "preact";
import { useLoad } from "../load.ts";
import { Card, Empty, FaultNotice, Loading } from "../parts/basics.tsx";
import { Table } from "../parts/table.tsx";
import { to } from "../places.ts";
import { deliveryColumns } from "./list.tsx";
import { type DeliveryQuery, useDeliveries } from "./source.ts";

const shown = 8;

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
  const { data, fault } = useLoad((signal) => source.list(asked, signal), [query], ["deliveries"]);
  const rows = data?.data ?? [];
  return (
    <Card
      isFlush
      title="Latest deliveries"
      actions={<a href={to("/deliveries", { ...query, live: "1" })}>Watch live</a>}
    >
      <FaultNotice fault={data ? null : fault} />
      {!data && !fault && <Loading />}
      {data && rows.length === 0 && <Empty title="Nothing was sent yet">{children}</Empty>}
      {rows.length > 0 && (
        <Table
          label="Latest deliveries"
          rows={rows}
          keyOf={({ id }) => id}
          linkOf={({ id }) => to(`/deliveries/${id}`)}
          columns={deliveryColumns()}
        />
      )}
    </Card>
  );
}
