import { setImmediate as nextTurn } from "node:timers/promises";
import { DomainError, inOneLine } from "../domain/errors.ts";
import { TimeSlice } from "../domain/time-slice.ts";
import { type BatchMode, BatchRefused, type BatchResult } from "../store/batch.ts";
import { type Line, lineGroups } from "./lines.ts";

/** What became of a batch. */
export interface BatchReport {
  accepted: number;
  rejected: number;
  /** Fields of the accepted lines that are not known; missing where they are not counted. */
  ignored_fields?: number;
  /** The first `maxErrors` refused lines; `rejected` counts them all. */
  readonly errors: { readonly line: number; readonly message: string }[];
}

export const maxErrors = 1_000;
export const maxLineBytes = 256 * 1024;

/** Takes some items and says of each, in order, null or why it was refused. Atomic: see `BatchMode`. */
export type Keep<Input> = (items: readonly Input[], mode?: BatchMode) => Promise<BatchResult>;

/** Reads the bytes of one line; throws a `DomainError` that says what is wrong with it. */
export type ReadLine<Input> = (bytes: Uint8Array) => Input;

export interface BatchOptions<Input> {
  /** How many fields of an item are not known. Counted where it is given. */
  readonly ignored?: ((input: Input) => number) | undefined;
  /**
   * Lines that share a transaction, 200 where not said: with a million users in the store those hold up the event
   * loop for 3 to 13 ms. More are faster: 5,000 take half the time for each row, where nobody else has to wait.
   */
  readonly groupSize?: number;
}

/** A group of longer lines than this on average has fewer of them. */
const usualLineBytes = 4 * 1024;

/**
 * Applies a stream of NDJSON group by group, with flat memory. A bad line is refused and the rest goes on. When the
 * storage fails, the error says how many lines had been taken before.
 */
export async function applyBatch<Input>(
  stream: AsyncIterable<Uint8Array>,
  read: ReadLine<Input>,
  keep: Keep<Input>,
  { groupSize = 200, ignored }: BatchOptions<Input> = {},
): Promise<BatchReport> {
  const report: BatchReport = { accepted: 0, rejected: 0, ...(ignored && { ignored_fields: 0 }), errors: [] };
  const refuse = (line: number, message: string) => {
    report.rejected++;
    if (report.errors.length < maxErrors) report.errors.push({ line, message });
  };
  const limits = { groupSize, groupBytes: groupSize * usualLineBytes, lineBytes: maxLineBytes };
  for await (const lines of lineGroups(stream, limits)) {
    const { good, refused } = await readLines(lines, read);
    const results = await kept(good, keep, report);
    for (const [i, message] of results.entries()) {
      const one = good[i];
      if (!one) continue;
      if (message !== null) refused.push({ line: one.line, message });
      else {
        report.accepted++;
        if (ignored) report.ignored_fields = (report.ignored_fields ?? 0) + ignored(one.input);
      }
    }
    for (const { line, message } of refused.sort((a, b) => a.line - b.line)) refuse(line, message);
  }
  return report;
}

/**
 * What an atomic batch may hold, for it is one transaction, for which every other write waits: 2,000 changed users among
 * 200,000 take some 0.2 s.
 */
export const atomicLimits = { lines: 2_000, bytes: 4 * 1024 * 1024 } as const;

/**
 * Applies a stream of NDJSON whole or not at all: where one line is refused, none is taken. Throws `body_too_large` for
 * more than `atomicLimits`.
 */
export async function applyAtomically<Input>(
  stream: AsyncIterable<Uint8Array>,
  read: ReadLine<Input>,
  keep: Keep<Input>,
  { ignored }: Pick<BatchOptions<Input>, "ignored"> = {},
): Promise<BatchReport> {
  const { good, refused } = await readLines(await allLines(stream), read);
  try {
    if (refused.length === 0) {
      await keep(
        good.map(({ input }) => input),
        { atomic: true },
      );
    }
  } catch (error) {
    if (!(error instanceof BatchRefused)) throw error;
    for (const [i, message] of error.results.entries()) {
      if (message !== null) refused.push({ line: good[i]?.line ?? 0, message });
    }
  }
  const taken = refused.length === 0 ? good : [];
  return {
    accepted: taken.length,
    rejected: refused.length,
    ...(ignored && { ignored_fields: taken.reduce((sum, { input }) => sum + ignored(input), 0) }),
    errors: refused.slice(0, maxErrors),
  };
}

async function allLines(stream: AsyncIterable<Uint8Array>): Promise<Line[]> {
  const { lines: groupSize, bytes } = atomicLimits;
  const limits = { groupSize, groupBytes: bytes, lineBytes: maxLineBytes };
  let all: Line[] | null = null;
  for await (const lines of lineGroups(bounded(stream, bytes), limits)) {
    if (all) throw tooMuch(`${groupSize} lines`);
    all = lines;
  }
  return all ?? [];
}

async function* bounded(stream: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.byteLength;
    if (size > maxBytes) throw tooMuch(`${maxBytes} bytes`);
    yield chunk;
  }
}

function tooMuch(limit: string): DomainError {
  return new DomainError("body_too_large", `An atomic batch may have at most ${limit}; nothing was taken`);
}

async function kept<Input>(
  good: readonly { readonly input: Input }[],
  keep: Keep<Input>,
  report: BatchReport,
): Promise<BatchResult> {
  if (good.length === 0) {
    // Nothing else here waits, and a stream of nothing but bad lines must not keep the event loop to itself.
    await nextTurn();
    return [];
  }
  try {
    return await keep(good.map(({ input }) => input));
  } catch (error) {
    if (!(error instanceof DomainError) || error.code !== "unavailable") throw error;
    const message = `${error.message} Of this batch ${report.accepted} lines had been taken before; sending it all again does no harm.`;
    throw new DomainError("unavailable", message, error.details);
  }
}

interface ReadLines<Input> {
  readonly good: { readonly line: number; readonly input: Input }[];
  readonly refused: { readonly line: number; readonly message: string }[];
}

async function readLines<Input>(lines: readonly Line[], read: ReadLine<Input>): Promise<ReadLines<Input>> {
  const result: ReadLines<Input> = { good: [], refused: [] };
  const slice = new TimeSlice();
  for (const line of lines) {
    const one = readLine(line, read);
    if (typeof one === "string") result.refused.push({ line: line.number, message: one });
    else result.good.push({ line: line.number, input: one.input });
    if (slice.isOver) await slice.next();
  }
  return result;
}

function readLine<Input>({ bytes }: Line, read: ReadLine<Input>): { input: Input } | string {
  if (bytes === null) return `The line is longer than ${maxLineBytes} bytes`;
  try {
    return { input: read(bytes) };
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return inOneLine(error);
  }
}
