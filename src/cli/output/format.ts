/** A number with separators, for people. */
export function counted(count: number): string {
  return Math.round(count).toLocaleString("en");
}

/** `1 row`, `2,000 rows`. */
export function countOf(count: number, noun: string): string {
  return `${counted(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** A size in bytes as megabytes. */
export function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}

/** A duration in whole seconds. */
export function duration(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  if (seconds < 100) return `${seconds} s`;
  return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, "0")} s`;
}

/** Starts a stopwatch. The returned function gives the elapsed time, like `in 1.2 s`. */
export function stopwatch(): () => string {
  const startedAt = performance.now();
  return () => {
    const ms = performance.now() - startedAt;
    if (ms < 1_000) return `in ${Math.max(1, Math.round(ms))} ms`;
    return `in ${ms < 99_950 ? `${(ms / 1000).toFixed(1)} s` : duration(ms)}`;
  };
}
