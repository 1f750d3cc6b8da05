import type { components } from "../client/api.d.ts";
import { useLoad } from "./load.ts";
import { Card, number } from "./parts/basics.tsx";
import { Select } from "./parts/form.tsx";
import { Plot } from "./parts/plot.tsx";
import { Read } from "./parts/table.tsx";
import { duration } from "./parts/time.tsx";
import { useQuery } from "./places.ts";

type Step = components["schemas"]["DeliveryStep"];
type Counts = components["schemas"]["DeliveryCounts"];

const ranges = [
  ["hour", "Last hour"],
  ["day", "Last 24 hours"],
  ["week", "Last 7 days"],
] as const;
export type Range = (typeof ranges)[number][0];

/** Returns the time range in the page's URL, and the field that selects it. */
export function useRange(): readonly [Range, preact.JSX.Element] {
  const [query, setQuery] = useQuery();
  const [range] = ranges.find(([name]) => name === query["range"]) ?? ranges[0];
  const choice = (
    <Select
      label="Time"
      isBare
      value={range}
      options={ranges}
      onInput={(range) => setQuery({ range: range === "hour" ? null : range })}
    />
  );
  return [range, choice];
}

export const seconds = (steps: readonly { readonly at: string }[]) =>
  steps.map(({ at }) => Date.parse(at) / 1_000);

/** The outcomes of deliveries over time. */
export function OutcomePlot({ steps, totals }: { steps: readonly Step[]; totals: Counts }) {
  const values = (...names: readonly (keyof Step)[]) =>
    steps.map((step) => names.reduce((sum, name) => sum + Number(step[name]), 0));
  const { streamed, filtered } = totals;
  return (
    <>
      <Plot
        label="Deliveries"
        kind="bars"
        times={seconds(steps)}
        empty={
          streamed > 0
            ? `No webhooks were sent; ${number(streamed)} events were available on the stream.`
            : "No deliveries in this period."
        }
        hint="Counts are delayed by about ten seconds."
        series={[
          { name: "delivered", tone: "ok", values: values("delivered") },
          { name: "retried", tone: "warn", values: values("retried") },
          { name: "failed or expired", tone: "bad", values: values("failed", "expired") },
          { name: "canceled", tone: "plain", values: values("canceled") },
        ]}
      />
      {filtered > 0 && (
        <p class="muted">
          Not sent, because {filtered === 1 ? "it" : "they"} did not match a filter: {number(filtered)}{" "}
          {filtered === 1 ? "event" : "events"}.
        </p>
      )}
    </>
  );
}

/** The time from publishing to arrival. */
export function ArrivalPlot({ steps }: { steps: readonly Step[] }) {
  return (
    <Plot
      label="Delivery latency"
      kind="lines"
      times={seconds(steps)}
      format={duration}
      empty="No deliveries arrived in this period."
      series={[
        { name: "median", tone: "accent", values: steps.map((step) => step.arrival_p50_ms) },
        { name: "99th percentile", tone: "plain", values: steps.map((step) => step.arrival_p99_ms) },
      ]}
    />
  );
}

interface Statistics {
  readonly deliveries: readonly Step[];
  readonly totals: Counts;
}

/** The outcomes of deliveries in a selectable time range. */
export function OutcomeCard({ read }: { read: (range: Range, signal: AbortSignal) => Promise<Statistics> }) {
  const [range, choice] = useRange();
  const loaded = useLoad((signal) => read(range, signal), [range], ["statistics"]);
  return (
    <Card title="Deliveries" actions={choice}>
      <Read of={loaded}>
        {({ deliveries, totals }) => <OutcomePlot steps={deliveries} totals={totals} />}
      </Read>
    </Card>
  );
}
