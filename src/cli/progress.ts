/** What is known of a long piece of work; whoever does it counts up. */
export interface Progress {
  /** Bytes done, of `totalBytes`; null: nobody knows how many there are. */
  bytes: number;
  readonly totalBytes: number | null;
  /** null: it has none. */
  rows: number | null;
  /** Where it is rows that are counted, and not bytes. */
  readonly totalRows?: number;
}

/** Shows a `Progress` while the work goes on. */
export interface ProgressDisplay {
  /** Takes the bar away; where plain lines were shown, says the last one. */
  end(): void;
}

const longestBar = 24;
const shortestBar = 8;
const onTerminalMs = 100;
const elsewhereMs = 5_000;

const counted = (rows: number) => Math.round(rows).toLocaleString("en");
const megabytes = (bytes: number) => (bytes / 1e6).toFixed(1);

/** One line for a progress after `elapsedMs`, with a bar where a terminal of `columns` has room for it. */
export function progressLine(
  progress: Readonly<Progress>,
  elapsedMs: number,
  columns: number | null,
): string {
  const { bytes, totalBytes, rows, totalRows } = progress;
  const seconds = Math.max(1, elapsedMs) / 1000;
  const speed =
    rows === null
      ? `${megabytes(bytes / seconds)} MB/s`
      : `${counted(rows)}${totalRows ? ` of ${counted(totalRows)}` : ""} rows  ${counted(rows / seconds)} rows/s`;
  if (!totalBytes && !totalRows) return fitted(`${megabytes(bytes)} MB  ${speed}`, columns);
  const share = Math.min(1, totalRows ? (rows ?? 0) / totalRows : bytes / (totalBytes ?? bytes));
  const percent = `${Math.floor(share * 100)} %`.padStart(columns === null ? 0 : 5);
  const left = share > 0 && share < 1 ? `  ${duration((elapsedMs / share) * (1 - share))} left` : "";
  const done = totalBytes ? `  ${megabytes(bytes)} of ${megabytes(totalBytes)} MB` : "";
  const text = `${percent}${done}  ${speed}${left}`;
  if (columns === null) return text;
  const width = Math.min(longestBar, columns - 2 - text.length);
  if (width < shortestBar) return fitted(text.trimStart(), columns);
  const filled = Math.round(share * width);
  return `${"█".repeat(filled)}${"░".repeat(width - filled)} ${text}`;
}

/** A line that wraps could not be drawn over. */
const fitted = (text: string, columns: number | null) =>
  columns === null ? text : text.slice(0, columns - 1);

function duration(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  if (seconds < 100) return `${seconds} s`;
  return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, "0")} s`;
}

/** Shows progress on standard error: a bar that redraws itself on a terminal, a plain line now and then elsewhere. */
export function showProgress(progress: Readonly<Progress>): ProgressDisplay {
  const terminal = process.stderr.isTTY === true;
  const startedAt = performance.now();
  let drawn = 0;
  const draw = () => {
    drawn++;
    const elapsed = performance.now() - startedAt;
    const line = progressLine(progress, elapsed, terminal ? process.stderr.columns || 80 : null);
    process.stderr.write(terminal ? `\r\x1b[2K${line}` : `${line}\n`);
  };
  const timer = setInterval(draw, terminal ? onTerminalMs : elsewhereMs);
  return {
    end() {
      clearInterval(timer);
      if (terminal) process.stderr.write("\r\x1b[2K");
      else if (drawn > 0) draw();
    },
  };
}
