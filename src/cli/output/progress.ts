import { counted, duration, megabytes } from "./print.ts";

/** The progress of a long operation. The operation updates the counts. */
export interface Progress {
  /** The bytes done, of `totalBytes`. `totalBytes` is null when the total is unknown. */
  bytes: number;
  readonly totalBytes: number | null;
  /** The rows done; null when the operation has no rows. */
  rows: number | null;
  /** The total of the rows, when rows are counted instead of bytes. */
  readonly totalRows?: number;
  /** The counted items, when items are not rows; `share` is the completed part, from 0 to 1. */
  readonly counted?: { readonly nouns: string; share: number };
}

/** Shows a `Progress` during the operation. */
interface ProgressDisplay {
  /** Removes the bar; without a terminal, prints a last line if there were any. */
  end(): void;
}

const longestBar = 24;
const shortestBar = 8;
const onTerminalMs = 100;
const elsewhereMs = 5_000;

/** Formats the progress after `elapsedMs` as one line, with a bar if it fits into `columns`. */
export function progressLine(
  progress: Readonly<Progress>,
  elapsedMs: number,
  columns: number | null,
): string {
  const { bytes, totalBytes, rows, totalRows } = progress;
  if (progress.counted) {
    const { nouns, share } = progress.counted;
    return barred(share, `  ${counted(rows ?? 0)} ${nouns}`, columns);
  }
  const seconds = Math.max(1, elapsedMs) / 1000;
  const speed =
    rows === null
      ? `${megabytes(bytes / seconds)} MB/s`
      : `${counted(rows)}${totalRows ? ` of ${counted(totalRows)}` : ""} rows  ${counted(rows / seconds)} rows/s`;
  if (!totalBytes && !totalRows) return fitted(`${megabytes(bytes)} MB  ${speed}`, columns);
  const share = Math.min(1, totalRows ? (rows ?? 0) / totalRows : bytes / (totalBytes ?? bytes));
  const left = share > 0 && share < 1 ? `  ${duration((elapsedMs / share) * (1 - share))} left` : "";
  const done = totalBytes ? `  ${megabytes(bytes)} of ${megabytes(totalBytes)} MB` : "";
  return barred(share, `${done}  ${speed}${left}`, columns);
}

/** Formats percentage and text, with a bar if it fits. */
function barred(share: number, text: string, columns: number | null): string {
  const percent = `${Math.floor(share * 100)} %`.padStart(columns === null ? 0 : 5);
  const all = percent + text;
  if (columns === null) return all;
  const width = Math.min(longestBar, columns - 2 - all.length);
  if (width < shortestBar) return fitted(all.trimStart(), columns);
  const filled = Math.round(share * width);
  return `${"█".repeat(filled)}${"░".repeat(width - filled)} ${all}`;
}

/** Cuts a text to one line of the terminal, because a wrapped line cannot be redrawn. */
const fitted = (text: string, columns: number | null) =>
  columns === null ? text : text.slice(0, columns - 1);

/** Shows progress on standard error: a redrawn bar on a terminal, else a plain line every few seconds. */
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
