/** An observed value, with labels that identify it in the log and in traces. */
export interface Exemplar {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** Counts of observed values by size. Plain data, so that it can be sent to another thread. */
export interface Histogram {
  /** The upper bounds of the buckets, ascending; the last bucket has none. */
  readonly bounds: readonly number[];
  readonly counts: number[];
  /** The newest value with labels of each bucket. */
  readonly exemplars: (Exemplar | null)[];
  sum: number;
}

export function newHistogram(bounds: readonly number[]): Histogram {
  const buckets = bounds.length + 1;
  return { bounds, counts: Array(buckets).fill(0), exemplars: Array(buckets).fill(null), sum: 0 };
}

export function observe(histogram: Histogram, value: number, exemplar: Omit<Exemplar, "value"> | null): void {
  const { bounds, counts, exemplars } = histogram;
  const bucket = bucketOf(bounds, value);
  counts[bucket] = (counts[bucket] ?? 0) + 1;
  histogram.sum += value;
  if (exemplar) exemplars[bucket] = { labels: exemplar.labels, value, at: exemplar.at };
}

/** The index of the bucket of a value, by the upper bounds of all but the last. */
export function bucketOf(bounds: readonly number[], value: number): number {
  let bucket = 0;
  while (value > (bounds[bucket] ?? Number.POSITIVE_INFINITY)) bucket++;
  return bucket;
}
