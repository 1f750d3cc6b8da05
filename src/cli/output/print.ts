import { type BatchReport, maxErrors } from "../../platform/batches.ts";
import { cut, escapedAroundStyles, printable, type Style, terminalOn } from "../../runtime/terminal.ts";
import type { Environment } from "../../server/settings/read-config.ts";

/** Formats a number with separators. */
export function counted(count: number): string {
  return Math.round(count).toLocaleString("en");
}

/** Formats a count with its noun: `1 row`, `2,000 rows`. */
export function countOf(count: number, noun: string): string {
  return `${counted(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** Formats a size in bytes as megabytes. */
export function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}

/** Formats a duration in whole seconds. */
function duration(ms: number): string {
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

/** Thrown when the reader of standard output has closed it, as `head` does. */
class OutputClosed extends Error {
  override name = "OutputClosed";
}

/** A listener for error events of standard output, which would otherwise end the process; `write` reports the error. */
const ignored = () => {};

/** Writes to standard output unchanged, and waits until it is written, because the process may exit right after. */
export function write(data: string | Uint8Array): Promise<void> {
  const { stdout } = process;
  if (!stdout.listeners("error").includes(ignored)) stdout.on("error", ignored);
  return new Promise((resolve, reject) => {
    stdout.write(data, (error) => {
      if (!error) resolve();
      else reject("code" in error && error.code === "EPIPE" ? new OutputClosed() : error);
    });
  });
}

/** Prints one or more lines. */
export function print(text: string): Promise<void> {
  return write(`${escapedAroundStyles(text)}\n`);
}

/** Prints a note on standard error. */
export function note(sentence: string): void {
  process.stderr.write(`${escapedAroundStyles(sentence)}\n`);
}

/** Returns the layout of standard output for text, with styles on a terminal. */
export function screen(env: Environment): Screen {
  const { stdout } = process;
  const columns = stdout.isTTY ? stdout.columns || null : null;
  return { style: terminalOn(stdout, env).style, columns };
}

/** The layout of text output. */
export interface Screen {
  style(style: Style, text: string): string;
  /** The width in characters; null for any width. */
  readonly columns: number | null;
}

const plain: Screen = { style: (_, text) => text, columns: null };

/** Formats a record as lines of name and value. */
export function recordLines(record: Readonly<Record<string, unknown>>, { style }: Screen = plain): string {
  const width = Math.max(...Object.keys(record).map((name) => name.length));
  return Object.entries(record)
    .map(([name, value]) => {
      const text = cell(value);
      const kind = isState(name) ? styleOfState(text) : undefined;
      return `${style("dim", name.padEnd(width))}  ${kind ? style(kind, text) : text}`;
    })
    .join("\n");
}

function cell(value: unknown): string {
  if (value === null || value === "") return "-";
  return printable(Array.isArray(value) ? value.join(" ") || "-" : String(value));
}

/** Formats rows below their column names, each column as wide as its widest cell. */
export function table(columns: readonly string[], rows: readonly (readonly string[])[], on?: Screen): string {
  return tableWriter(columns, on)(rows);
}

/** Formats a table in parts; the first part has the column names. */
export function tableWriter(columns: readonly string[], { style, columns: width }: Screen = plain) {
  let isFirst = true;
  const widths = columns.map((name) => name.length);
  return (rows: readonly (readonly string[])[]): string => {
    const texts = rows.map((row) => row.map((cell) => printable(cell)));
    for (const row of texts) {
      for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, Bun.stringWidth(cell));
    }
    const lines = texts.map((row) =>
      line(row, widths, (text, i) => {
        const kind = isState(columns[i] ?? "") ? styleOfState(text) : undefined;
        return kind ? style(kind, text) : text;
      }),
    );
    if (isFirst) lines.unshift(line(columns, widths, (text) => style("dim", text)));
    isFirst = false;
    return lines.map((text) => (width === null ? text : cut(text, width))).join("\n");
  };
}

/** Joins the cells of a row. A wide character takes two columns of a terminal. */
function line(
  cells: readonly string[],
  widths: readonly number[],
  styled: (text: string, index: number) => string,
): string {
  return cells
    .map((cell, i) => styled(cell, i) + " ".repeat(Math.max(0, (widths[i] ?? 0) - Bun.stringWidth(cell))))
    .join("  ")
    .trimEnd();
}

const isState = (name: string) => /^(state|status|endpoint)$/i.test(name);

const styles: Readonly<Record<string, Style>> = {
  completed: "green",
  delivered: "green",
  done: "green",
  enabled: "green",
  ok: "green",
  failing: "yellow",
  pending: "yellow",
  running: "yellow",
  canceled: "dim",
  disabled: "red",
  expired: "red",
  failed: "red",
};

function styleOfState(text: string): Style | undefined {
  const word = /^[a-z]+/.exec(text)?.[0] ?? "";
  return Object.hasOwn(styles, word) ? styles[word] : undefined;
}

const shownErrors = 20;

interface ReportOptions {
  readonly json: boolean;
  /** Whether the batch was interrupted. */
  readonly interrupted?: boolean;
  /** Whether the batch repeats an earlier batch with the same idempotency key; then nothing was sent. */
  readonly alreadySent?: boolean;
  /** The duration, like `in 1.2 s`. */
  readonly took: string;
}

/** Prints the result of a batch: rejected lines on standard error, counts on standard output. */
export async function printReport(
  {
    accepted,
    rejected,
    ignored_fields,
    duplicate_ids,
    errors,
    ended,
  }: Omit<BatchReport, "duplicate_ids"> & { readonly duplicate_ids?: number; readonly ended?: number },
  { json, interrupted = false, alreadySent, took }: ReportOptions,
): Promise<void> {
  if (json) {
    const already_sent = alreadySent;
    const counts = { accepted, rejected, ignored_fields, duplicate_ids };
    const report = { ...counts, errors, ended, interrupted, already_sent };
    return print(JSON.stringify(report));
  }
  for (const { line, message } of errors.slice(0, shownErrors)) {
    note(`line ${line}: ${message}`);
  }
  const more = rejected - Math.min(shownErrors, errors.length);
  if (more > 0) note(`… and ${counted(more)} more; --json shows the first ${counted(maxErrors)}`);
  const ignored = ignored_fields ? `, ${countOf(ignored_fields, "unknown field")} ignored` : "";
  const left = ended === undefined ? "" : `, ${countOf(ended, "livestream")} ended`;
  const repeated = duplicate_ids
    ? `, duplicate ids: ${counted(duplicate_ids)} (the last line of each counts)`
    : "";
  const counts = `${counted(accepted)} accepted, ${counted(rejected)} rejected${ignored}${left}${repeated}`;
  if (alreadySent)
    return print(
      `This file was already published with this idempotency key (${counts}). Nothing was sent now.`,
    );
  await print(`${counts} ${took}${interrupted ? "; stopped before the end" : ""}`);
}

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
