import type { components } from "../../client/api.d.ts";
import { useLoad } from "../load.ts";
import { Card, number } from "../parts/basics.tsx";
import { Select } from "../parts/form.tsx";
import { Plot } from "../parts/plot.tsx";
import { Read } from "../parts/table.tsx";
import { duration } from "../parts/time.tsx";
import { useQuery } from "../places.ts";

type Step = components["schemas"]["DeliveryStep"];
type Counts = components["schemas"]["DeliveryCounts"];

export const ranges = ["hour", "day", "week"] as const;
export type Range = (typeof ranges)[number];
const words: Readonly<Record<Range, string>> = {
  hour: "Last hour",
  day: "Last 24 hours",
  week: "Last 7 days",
};

/** The range of time in the address, and its choice. */
export function useRange(): readonly [Range, preact.JSX.Element] {
  const [query, setQuery] = useQuery();
  const range = ranges.find((one) => one === query["range"]) ?? "hour";
  const choice = (
    <Select
      label="Time"
      isBare
      value={range}
      options={ranges.map((one) => [one, words[one]] as const)}
      onChange={(range) => setQuery({ range: range === "hour" ? null : range })}
    />
  );
  return [range, choice];
}

export const seconds = (steps: readonly { readonly at: string }[]) =>
  steps.map(({ at }) => Date.parse(at) / 1_000);

/** What became of deliveries, in steps of time. */
export function OutcomePlot({ steps, totals }: { steps: readonly Step[]; totals: Counts }) {
  const values = (...names: readonly (keyof Step)[]) =>
    steps.map((step) => names.reduce((sum, name) => sum + Number(step[name]), 0));
  return (
    <Plot
      label="Deliveries"
      kind="bars"
      times={seconds(steps)}
      empty={
        totals.streamed > 0
          ? `Nothing was sent; ${number(totals.streamed)} could be read on the stream.`
          : "Nothing was sent in this time."
      }
      hint="The counts are some ten seconds behind."
      series={[
        { name: "delivered", tone: "ok", values: values("delivered") },
        { name: "to be tried again", tone: "warn", values: values("retried") },
        { name: "failed or expired", tone: "bad", values: values("failed", "expired") },
        { name: "canceled", tone: "plain", values: values("canceled") },
      ]}
    />
  );
}

/** How long deliveries took from publishing to arrival. */
export function ArrivalPlot({ steps }: { steps: readonly Step[] }) {
  return (
    <Plot
      label="From publishing to arrival"
      kind="lines"
      times={seconds(steps)}
      format={duration}
      empty="Nothing arrived in this time."
      series={[
        { name: "half of them within", tone: "accent", values: steps.map((step) => step.arrival_p50_ms) },
        { name: "99 of 100 within", tone: "plain", values: steps.map((step) => step.arrival_p99_ms) },
      ]}
    />
  );
}

interface Statistics {
  readonly deliveries: readonly Step[];
  readonly totals: Counts;
}

/** The outcomes of deliveries over a time that can be chosen. */
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
