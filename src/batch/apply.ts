import { setImmediate as nextTurn } from "node:timers/promises";
import { DomainError, inOneLine } from "../domain/errors.ts";
import { TimeSlice } from "../runtime/event-loop.ts";
import { type BatchMode, BatchRefused, type BatchResult } from "../store/batch.ts";
import { type Line, lineGroups } from "./lines.ts";

/** The result of a batch. */
export interface BatchReport {
  accepted: number;
  rejected: number;
  /** The number of unknown fields in accepted lines. */
  ignored_fields: number;
  /** The first `maxErrors` refused lines; `rejected` counts all of them. */
  readonly errors: { readonly line: number; readonly message: string }[];
}

export const maxErrors = 1_000;
export const maxLineBytes = 256 * 1024;

/** Stores items. Returns null or the reason for the refusal of each, in order. For atomicity see `BatchMode`. */
export type Keep<Input> = (items: readonly Input[], mode?: BatchMode) => Promise<BatchResult>;

/** Parses one line; throws a `DomainError` with the problem. */
type ReadLine<Input> = (bytes: Uint8Array) => Input;

/** The functions that check and store the lines of a batch. */
export interface Intake<Input> {
  readonly read: ReadLine<Input>;
  readonly keep: Keep<Input>;
  /** Counts the unknown fields of an item, which are ignored. */
  readonly ignored: (input: Input) => number;
}

/** With a larger average length of lines, a group has fewer lines. */
const usualLineBytes = 4 * 1024;

/**
 * Applies an NDJSON stream group by group, in constant memory. Invalid lines are refused, and the others are applied.
 * If the storage fails, the error states how many lines were stored before.
 *
 * @param groupSize the most lines of a transaction. More are faster in total, but block the event loop for longer.
 */
export async function applyBatch<Input>(
  stream: AsyncIterable<Uint8Array>,
  { read, keep, ignored }: Intake<Input>,
  groupSize = 200,
): Promise<BatchReport> {
  const report: BatchReport = { accepted: 0, rejected: 0, ignored_fields: 0, errors: [] };
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
        report.ignored_fields += ignored(one.input);
      }
    }
    for (const { line, message } of refused.sort((a, b) => a.line - b.line)) refuse(line, message);
  }
  return report;
}

/** The limits of an atomic batch. It is one transaction, which delays all other writes. */
export const atomicLimits = {
  lines: 2_000,
  bytes: 4 * 1024 * 1024,
  inWords: "2,000 lines and 4 MiB",
} as const;

/**
 * Applies an NDJSON stream as a whole: if any line is refused, none is stored. Throws `body_too_large` above
 * `atomicLimits`.
 */
export async function applyAtomically<Input>(
  stream: AsyncIterable<Uint8Array>,
  { read, keep, ignored }: Intake<Input>,
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
    ignored_fields: taken.reduce((sum, { input }) => sum + ignored(input), 0),
    errors: refused.slice(0, maxErrors),
  };
}

async function allLines(stream: AsyncIterable<Uint8Array>): Promise<Line[]> {
  const { lines: groupSize, bytes } = atomicLimits;
  const limits = { groupSize, groupBytes: bytes, lineBytes: maxLineBytes };
  let all: Line[] | null = null;
  for await (const lines of lineGroups(bounded(stream, bytes), limits)) {
    if (all) throw tooMuch();
    all = lines;
  }
  return all ?? [];
}

async function* bounded(stream: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.byteLength;
    if (size > maxBytes) throw tooMuch();
    yield chunk;
  }
}

function tooMuch(): DomainError {
  const message = `An atomic batch may have at most ${atomicLimits.inWords}; nothing was stored`;
  return new DomainError("body_too_large", message);
}

async function kept<Input>(
  good: readonly { readonly input: Input }[],
  keep: Keep<Input>,
  report: BatchReport,
): Promise<BatchResult> {
  if (good.length === 0) {
    // Yields to the event loop, because a stream of invalid lines has no other wait.
    await nextTurn();
    return [];
  }
  try {
    return await keep(good.map(({ input }) => input));
  } catch (error) {
    if (!(error instanceof DomainError) || error.code !== "unavailable") throw error;
    const message = `${error.message} ${report.accepted} lines of this batch had been stored before; it is safe to send all of it again.`;
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
