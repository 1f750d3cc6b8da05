import type { Exemplar, Histogram } from "../../domain/statistics.ts";
import { accepts } from "../http/content.ts";

type Labels = Readonly<Record<string, string>>;

/** A metric with its values. */
interface SampledMetric {
  readonly type: "gauge" | "counter";
  /** The name; without `_total` for a counter. */
  readonly name: string;
  readonly help: string;
  readonly samples: readonly { readonly labels: Labels; readonly value: number }[];
}

/** A metric with histograms. */
interface HistogramMetric {
  readonly type: "histogram";
  readonly name: string;
  readonly help: string;
  readonly histograms: readonly { readonly labels: Labels; readonly histogram: Histogram }[];
}

export type AnyMetric = SampledMetric | HistogramMetric;

/** Returns a gauge with one value, as a list; an empty list if the value is unknown. */
export function gauge(name: string, help: string, value: number | null | undefined): SampledMetric[] {
  if (value === null || value === undefined) return [];
  return [{ type: "gauge", name, help, samples: [{ labels: {}, value }] }];
}

/** @param name without `_total` */
export function counter(name: string, help: string, value: number): SampledMetric {
  return { type: "counter", name, help, samples: [{ labels: {}, value }] };
}

/** Returns a counter with one value for each value of a label. @param name without `_total` */
export function counters(
  name: string,
  help: string,
  label: string,
  values: Readonly<Record<string, number>>,
): SampledMetric {
  const samples = Object.entries(values).map(([key, value]) => ({ labels: { [label]: key }, value }));
  return { type: "counter", name, help, samples };
}

/** A text format of metrics. */
interface Format {
  readonly mediaType: string;
  /** Whether the format has exemplars and an end marker. */
  readonly isOpenMetrics: boolean;
}

const text: Format = { mediaType: "text/plain; version=0.0.4", isOpenMetrics: false };
const openMetrics: Format = {
  mediaType: "application/openmetrics-text; version=1.0.0; charset=utf-8",
  isOpenMetrics: true,
};

/** Returns OpenMetrics if `Accept` names it, as Prometheus does to store exemplars; else Prometheus's text format. */
export function formatFor(accept: string | null): Format {
  return accepts(accept, "application/openmetrics-text") ? openMetrics : text;
}

/** Returns metrics as text. */
export function exposition(metrics: readonly AnyMetric[], { isOpenMetrics }: Format): string {
  const lines = metrics.flatMap((metric) => linesOf(metric, isOpenMetrics));
  if (isOpenMetrics) lines.push("# EOF");
  return `${lines.join("\n")}\n`;
}

function linesOf(metric: AnyMetric, isOpenMetrics: boolean): string[] {
  const { type, name, help } = metric;
  const sampled = type === "counter" ? `${name}_total` : name;
  const shown = isOpenMetrics ? name : sampled;
  const head = [`# HELP ${shown} ${help}`, `# TYPE ${shown} ${type}`];
  if (type !== "histogram") {
    return [...head, ...metric.samples.map(({ labels, value }) => sample(sampled, labels, value))];
  }
  return [...head, ...metric.histograms.flatMap((one) => histogramLines(name, one, isOpenMetrics))];
}

function histogramLines(
  name: string,
  { labels, histogram }: HistogramMetric["histograms"][number],
  isOpenMetrics: boolean,
): string[] {
  const { bounds, counts, exemplars, sum } = histogram;
  let total = 0;
  const buckets = counts.map((count, i) => {
    total += count;
    const line = sample(`${name}_bucket`, { ...labels, le: boundOf(bounds[i]) }, total);
    return isOpenMetrics ? line + exemplarOf(exemplars[i] ?? null) : line;
  });
  return [...buckets, sample(`${name}_sum`, labels, sum), sample(`${name}_count`, labels, total)];
}

/** Returns a bucket's bound. Both formats use the same form, because it is part of the identity of a series. */
function boundOf(bound: number | undefined): string {
  if (bound === undefined) return "+Inf";
  return Number.isInteger(bound) ? bound.toFixed(1) : String(bound);
}

function exemplarOf(exemplar: Exemplar | null): string {
  if (exemplar === null) return "";
  return ` # ${labelled(exemplar.labels) || "{}"} ${exemplar.value} ${(exemplar.at / 1000).toFixed(3)}`;
}

function sample(name: string, labels: Labels, value: number): string {
  return `${name}${labelled(labels)} ${value}`;
}

function labelled(labels: Labels): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${escaped(value)}"`);
  return pairs.length > 0 ? `{${pairs.join(",")}}` : "";
}

function escaped(value: string): string {
  return value.replace(/[\\"\n]/g, (character) => (character === "\n" ? "\\n" : `\\${character}`));
}
