import { type Static, Type } from "@sinclair/typebox";
import {
  allSubjects,
  deliveryOutcomes,
  type PeriodCounts,
  quantile,
  type StatisticPeriod,
  type StatisticRow,
  statisticPeriods,
  sumOfAll,
} from "../../../domain/operations/statistics.ts";
import { day, hour, isoTime, second } from "../../../domain/time.ts";
import { about, nullable } from "../../../domain/validation/fields.ts";
import type { Store } from "../../../store/store.ts";
import { IsoTimestamp, named } from "../../fields.ts";
import { ChoiceParameter } from "../../parameters.ts";

/*
 * Schemas of statistics, for the public and the admin API.
 */

/** What may be asked for: how far back, and in which steps. */
const ranges = {
  hour: { ms: hour, period: "minute" },
  day: { ms: day, period: "hour" },
  week: { ms: 7 * day, period: "hour" },
} as const satisfies Record<string, { ms: number; period: StatisticPeriod }>;
type StatisticRange = keyof typeof ranges;

const rangeNames = Object.keys(ranges) as StatisticRange[];
export const defaultRange = "hour";

export const RangeParameter = Type.Optional(
  ChoiceParameter(rangeNames, {
    default: defaultRange,
    description: "`hour`: the last 60 minutes. `day`: the last 24 hours. `week`: the last 168 hours.",
  }),
);

const count = (description: string) => Type.Integer({ description });
const ms = (description: string) => nullable(Type.Number(), { description: `${description} null: none.` });

const outcomes = {
  delivered: count("Deliveries that arrived."),
  retried: count("Attempts that failed and are made again."),
  failed: count("Deliveries that failed for good."),
  expired: count("Deliveries that were not worth sending any more."),
  canceled: count("Deliveries that were canceled when their turn came."),
  streamed: count("Deliveries that can be read on the event stream."),
  arrival_p50_ms: ms(
    "Milliseconds from publishing to arrival at the first attempt, for half of those that arrived so.",
  ),
  arrival_p99_ms: ms("The same for 99 of 100."),
};

export const DeliveryCounts = named("DeliveryCounts", "What became of deliveries.", outcomes);

export const DeliveryStep = named("DeliveryStep", "What became of deliveries in a step of time.", {
  at: about(IsoTimestamp, "When the step began."),
  ...outcomes,
});

export const spanFields = {
  range: Type.String({ description: "As it was asked for." }),
  from: about(IsoTimestamp, "When the first step began."),
  to: about(IsoTimestamp, "When the last step ends; it is still going on."),
  step_seconds: Type.Integer({ description: "How long a step is." }),
};

/** The times that a range covers: full steps, the last of which is going on. */
export function spanOf(range: StatisticRange, now: number) {
  const { ms: length, period } = ranges[range];
  const { ms: step } = statisticPeriods[period];
  const to = Math.floor(now / step) * step + step;
  const from = to - length;
  const shown = { range, from: isoTime(from), to: isoTime(to), step_seconds: step / second };
  return { from, to, step, period, shown };
}
export type StatisticSpan = ReturnType<typeof spanOf>;

/** One item for each step of a span, also where nothing was counted. */
export function steps<Shown>(
  span: StatisticSpan,
  rows: readonly StatisticRow[],
  shown: (period: PeriodCounts, at: string) => Shown,
) {
  const byTime = Map.groupBy(rows, ({ at }) => at);
  const result: Shown[] = [];
  for (let at = span.from; at < span.to; at += span.step) {
    result.push(shown(sumOfAll(byTime.get(at) ?? []), isoTime(at)));
  }
  return result;
}

/** What became of deliveries, by step and in all: those of an application, or of all (null). */
export async function deliveryStatistics(
  store: Pick<Store, "statistics">,
  span: StatisticSpan,
  application: string | null,
) {
  const { period, from, to } = span;
  const subject = application ?? allSubjects;
  const rows = await store.statistics.read({ kind: "deliveries", subject, period, from, to });
  return {
    deliveries: steps(span, rows, (period, at) => ({ at, ...shownDeliveries(period) })),
    totals: shownDeliveries(sumOfAll(rows)),
  };
}

function shownDeliveries(period: PeriodCounts): Static<typeof DeliveryCounts> {
  const counted = Object.fromEntries(deliveryOutcomes.map((name) => [name, period.counts[name] ?? 0]));
  const arrival = { arrival_p50_ms: quantile(period, 0.5), arrival_p99_ms: quantile(period, 0.99) };
  // Object.fromEntries loses the names.
  return { ...(counted as Record<(typeof deliveryOutcomes)[number], number>), ...arrival };
}

const exampleCounts: Static<typeof DeliveryCounts> = {
  delivered: 411,
  retried: 3,
  failed: 1,
  expired: 0,
  canceled: 0,
  streamed: 0,
  arrival_p50_ms: 12.4,
  arrival_p99_ms: 87.5,
};

export const exampleStatistics = {
  range: "hour",
  from: "2026-01-14T15:09:00.000Z",
  to: "2026-01-14T16:09:00.000Z",
  step_seconds: 60,
  deliveries: [{ at: "2026-01-14T15:09:00.000Z", ...exampleCounts }],
  totals: exampleCounts,
};
