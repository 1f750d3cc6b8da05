import { counted, duration, megabytes } from "./format.ts";

/** What is known of a long piece of work; whoever does it counts up. */
export interface Progress {
  /** Bytes done, of `totalBytes`; null: nobody knows how many there are. */
  bytes: number;
  readonly totalBytes: number | null;
  /** null: it has none. */
  rows: number | null;
  /** Where it is rows that are counted, and not bytes. */
  readonly totalRows?: number;
  /** What is counted, where it is not rows; `share` says how much of all is done, from 0 to 1. */
  readonly counted?: { readonly nouns: string; share: number };
}

/** Shows a `Progress` while the work goes on. */
interface ProgressDisplay {
  /** Takes the bar away; where plain lines were shown, says the last one. */
  end(): void;
}

const longestBar = 24;
const shortestBar = 8;
const onTerminalMs = 100;
const elsewhereMs = 5_000;

/** One line for a progress after `elapsedMs`, with a bar where a terminal of `columns` has room for it. */
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

/** A share in percent with a text, and a bar where there is room for one. */
function barred(share: number, text: string, columns: number | null): string {
  const percent = `${Math.floor(share * 100)} %`.padStart(columns === null ? 0 : 5);
  const all = percent + text;
  if (columns === null) return all;
  const width = Math.min(longestBar, columns - 2 - all.length);
  if (width < shortestBar) return fitted(all.trimStart(), columns);
  const filled = Math.round(share * width);
  return `${"█".repeat(filled)}${"░".repeat(width - filled)} ${all}`;
}

/** A line that wraps could not be drawn over. */
const fitted = (text: string, columns: number | null) =>
  columns === null ? text : text.slice(0, columns - 1);

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
