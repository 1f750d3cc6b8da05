import type { Gauge } from "./exposition.ts";

/** Returns a gauge with one value, as a list; an empty list if the value is unknown. */
export function gauge(name: string, help: string, value: number | null | undefined): Gauge[] {
  if (value === null || value === undefined) return [];
  return [{ type: "gauge", name, help, samples: [{ labels: {}, value }] }];
}

/** @param name without `_total` */
export function counter(name: string, help: string, value: number): Gauge {
  return { type: "counter", name, help, samples: [{ labels: {}, value }] };
}

/** Returns a counter with one value for each value of a label. @param name without `_total` */
export function counters(
  name: string,
  help: string,
  label: string,
  values: Readonly<Record<string, number>>,
): Gauge {
  const samples = Object.entries(values).map(([key, value]) => ({ labels: { [label]: key }, value }));
  return { type: "counter", name, help, samples };
}
