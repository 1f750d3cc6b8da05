/** What is known of a long piece of work. */
export interface Progress {
  /** Bytes done, of `totalBytes`; null: nobody knows how many there are. */
  bytes: number;
  readonly totalBytes: number | null;
  /** Items done; null where only the bytes are known, because a server does the work. */
  items: number | null;
}

/** Shows a `Progress` while the work goes on. */
export interface ProgressDisplay {
  /** Clears the line or says the last word. */
  end(): void;
}

const barWidth = 24;
const onTerminalMs = 100;
const elsewhereMs = 5_000;

const megabytes = (bytes: number) => (bytes / 1e6).toFixed(1);

/** One line for a progress after `elapsedMs`: on a terminal with a bar, elsewhere without. */
export function progressLine(
  { bytes, totalBytes, items }: Progress,
  elapsedMs: number,
  bar: boolean,
): string {
  const perSecond = (amount: number) => (amount * 1000) / Math.max(1, elapsedMs);
  const parts =
    items === null
      ? [`${megabytes(bytes)} MB`, `${megabytes(perSecond(bytes))} MB/s`]
      : [`${items.toLocaleString("en")} rows`, `${Math.round(perSecond(items)).toLocaleString("en")}/s`];
  if (totalBytes !== null && totalBytes > 0) {
    const share = Math.min(1, bytes / totalBytes);
    const filled = Math.round(share * barWidth);
    const percent = `${Math.floor(share * 100)} %`.padStart(5);
    parts.unshift(bar ? `${"█".repeat(filled)}${"░".repeat(barWidth - filled)} ${percent}` : percent.trim());
    const restMs = share > 0 ? (elapsedMs / share) * (1 - share) : 0;
    if (bar && share > 0 && share < 1) parts.push(`${Math.ceil(restMs / 1000)} s left`);
  }
  return parts.join("  ");
}

/** Shows progress on standard error: a bar that redraws itself on a terminal, a plain line now and then elsewhere. */
export function showProgress(progress: Readonly<Progress>): ProgressDisplay {
  const bar = process.stderr.isTTY === true;
  const startedAt = performance.now();
  const draw = () => {
    const line = progressLine(progress, performance.now() - startedAt, bar);
    process.stderr.write(bar ? `\r\x1b[2K${line}` : `${line}\n`);
  };
  const timer = setInterval(draw, bar ? onTerminalMs : elsewhereMs);
  return {
    end() {
      clearInterval(timer);
      if (bar) process.stderr.write("\r\x1b[2K");
    },
  };
}
