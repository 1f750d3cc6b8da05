import { useDeliveries } from "../../deliveries/source.ts";
import { useLoad } from "../../load.ts";
import { Card } from "../../parts/basics.tsx";
import { Plot } from "../../parts/plot.tsx";

const everyMs = 10_000;
const pages = 3;
const pageSize = 100;
const minuteMs = 60_000;

/** What became of the deliveries of the last hour, by minute. Of many it takes the newest, and says so. */
export function OutcomePlot() {
  const source = useDeliveries();
  const { data } = useLoad(
    async (signal) => {
      const after = new Date(Date.now() - 60 * minuteMs).toISOString();
      const first = await source.list({ limit: pageSize, after }, signal);
      const rows = [...first.data];
      let { cursor } = first.pagination;
      for (let page = 1; page < pages && cursor !== ""; page++) {
        const next = await source.list({ limit: pageSize, after, cursor }, signal);
        rows.push(...next.data);
        cursor = next.pagination.cursor;
      }
      return { rows, isAll: cursor === "" };
    },
    [],
    everyMs,
  );
  const last = Math.floor(Date.now() / minuteMs);
  const minutes = Array.from({ length: 60 }, (_, i) => last - 59 + i);
  const count = (wanted: readonly string[]) =>
    minutes.map(
      (minute) =>
        data?.rows.filter(
          ({ status, created_at }) =>
            wanted.includes(status) && Math.floor(Date.parse(created_at) / minuteMs) === minute,
        ).length ?? 0,
    );
  return (
    <Card
      title="Deliveries of the last hour"
      actions={data && !data.isAll && <small class="muted">the newest {pages * pageSize}</small>}
    >
      <Plot
        label="Deliveries by minute"
        kind="bars"
        times={data ? minutes.map((minute) => minute * 60) : []}
        empty={data ? "No delivery in the last hour." : "Loading…"}
        series={[
          { name: "delivered", tone: "ok", values: count(["delivered"]) },
          { name: "pending", tone: "warn", values: count(["pending"]) },
          { name: "failed or expired", tone: "bad", values: count(["failed", "expired"]) },
          { name: "canceled", tone: "plain", values: count(["canceled"]) },
        ]}
      />
    </Card>
  );
}
