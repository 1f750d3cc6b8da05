import { setImmediate as nextTurn } from "node:timers/promises";
import { type BatchMode, BatchRefused, type BatchResult, DomainError, inOneLine } from "../domain/errors.ts";
import { TimeSlice } from "../runtime/event-loop.ts";

/** A line of a stream, without its newline. `bytes` is null for a line above the limit. */
export interface Line {
  /** Counted from 1, with blank lines. */
  readonly number: number;
  readonly bytes: Uint8Array | null;
}

/** Limits of the lines in memory. */
interface LineLimits {
  /** The most lines of a group. */
  readonly groupSize: number;
  /** The size in bytes at which a group is also full. */
  readonly groupBytes: number;
  readonly lineBytes: number;
}

const newline = 0x0a;

/**
 * Splits a stream into lines and yields them in groups, each as soon as it is full. Skips blank lines. Keeps one group
 * and one line in memory.
 */
export async function* lineGroups(
  stream: AsyncIterable<Uint8Array>,
  { groupSize, groupBytes, lineBytes }: LineLimits,
): AsyncGenerator<Line[]> {
  let group: Line[] = [];
  let held = 0;
  let number = 0;
  let rest: Uint8Array[] = [];
  let restBytes = 0;

  const finishLine = (last: Uint8Array) => {
    number++;
    const length = restBytes + last.byteLength;
    const bytes = length > lineBytes ? null : rest.length === 0 ? last : Buffer.concat([...rest, last]);
    rest = [];
    restBytes = 0;
    if (bytes !== null && isBlank(bytes)) return;
    group.push({ number, bytes });
    held += bytes?.byteLength ?? 0;
  };

  for await (const chunk of stream) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      finishLine(chunk.subarray(start, end));
      start = end + 1;
      if (group.length >= groupSize || held >= groupBytes) {
        yield group;
        group = [];
        held = 0;
      }
    }
    // Bytes above the limit are counted, so that the line is refused, but not stored.
    if (start < chunk.byteLength) {
      restBytes += chunk.byteLength - start;
      if (restBytes <= lineBytes) rest.push(chunk.slice(start));
      else rest = [];
    }
  }
  if (restBytes > 0) finishLine(new Uint8Array(0));
  if (group.length > 0) yield group;
}

/**
 * Yields a stream in chunks of complete lines. After the signal is aborted, it ends without waiting for more data, so
 * that the reader gets complete lines and a regular end. A line above `maxHeldBytes` is yielded in parts.
 */
export async function* untilSignal(
  stream: ReadableStream<Uint8Array>,
  signal: AbortSignal,
  maxHeldBytes: number,
): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  signal.addEventListener("abort", () => reader.cancel().catch(() => {}));
  let rest = new Uint8Array(0);
  while (!signal.aborted) {
    const { done, value } = await reader.read();
    if (done) break;
    const chunk = rest.byteLength === 0 ? value : Buffer.concat([rest, value]);
    const lastEnd = chunk.lastIndexOf(newline) + 1;
    const end = lastEnd === 0 && chunk.byteLength > maxHeldBytes ? chunk.byteLength : lastEnd;
    rest = chunk.slice(end);
    if (end > 0) yield chunk.subarray(0, end);
  }
  if (rest.byteLength > 0 && !signal.aborted) yield rest;
}

function isBlank(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x0d || byte === 0x09);
}

/** The result of a batch. */
export interface BatchReport {
  accepted: number;
  rejected: number;
  /** The number of unknown fields in accepted lines. */
  ignored_fields: number;
  /** The number of accepted lines with the id of an earlier accepted line, which they replace; 0 without ids. */
  duplicate_ids: number;
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
  /** The id of an item, if a later item with the same id replaces it. */
  readonly idOf?: (input: Input) => number;
  /** Whether items have ids and unique names: then refused lines are tried again in a batch that is not atomic. */
  readonly isNamed?: boolean;
}

/** The most ids that are remembered. Further ones are not compared with each other, so that memory stays bounded. */
const mostIds = 1_000_000;

/** Returns a function that tells whether an id is a duplicate of one that it was called with before. */
function duplicates<Input>(idOf: Intake<Input>["idOf"]): (input: Input) => boolean {
  const seen = new Set<number>();
  return (input) => {
    if (idOf === undefined) return false;
    const id = idOf(input);
    if (seen.has(id)) return true;
    if (seen.size < mostIds) seen.add(id);
    return false;
  };
}

/** With a larger average length of lines, a group has fewer lines. */
const usualLineBytes = 4 * 1024;

/** The limits of an atomic batch. It is one transaction, which delays all other writes. */
export const atomicLimits = {
  lines: 2_000,
  bytes: 4 * 1024 * 1024,
  inWords: "2,000 lines and 4 MiB",
} as const;

/**
 * Applies an NDJSON stream group by group, in constant memory. Invalid lines are refused, and the others are applied.
 * With `isNamed`, lines that the storage refuses are tried once more together after the last line, so that names can be
 * swapped. If the storage fails, the error states how many lines were stored before.
 *
 * @param groupSize the most lines of a transaction. More are faster in total, but block the event loop for longer.
 */
export async function applyBatch<Input>(
  stream: AsyncIterable<Uint8Array>,
  { read, keep, ignored, idOf, isNamed = false }: Intake<Input>,
  groupSize = 200,
): Promise<BatchReport> {
  const report: BatchReport = { accepted: 0, rejected: 0, ignored_fields: 0, duplicate_ids: 0, errors: [] };
  const isDuplicate = duplicates(idOf);
  // Enough that `maxErrors` are left after all lines that are tried again are accepted.
  const errors = new Map<number, string>();
  const refuse = ({ line, message }: RefusedLine) => {
    report.rejected++;
    if (errors.size < maxErrors + atomicLimits.lines) errors.set(line, message);
  };
  const accept = ({ input }: GoodLine<Input>) => {
    report.accepted++;
    report.ignored_fields += ignored(input);
    if (isDuplicate(input)) report.duplicate_ids++;
  };
  const again = isNamed && idOf ? new LinesToRetry(idOf) : null;
  const limits = { groupSize, groupBytes: groupSize * usualLineBytes, lineBytes: maxLineBytes };
  for await (const lines of lineGroups(stream, limits)) {
    const { good, refused } = await readLines(lines, read);
    const results = await kept(good, keep, report);
    for (const [i, message] of results.entries()) {
      const line = good[i];
      if (!line) continue;
      if (message !== null) {
        refused.push({ line: line.line, message });
        again?.refused(line);
      } else {
        accept(line);
        again?.accepted(line);
      }
    }
    refused.sort((a, b) => a.line - b.line).forEach(refuse);
  }
  const retried = await keptTogether(again?.lines() ?? [], (good) =>
    kept(good, keep, report, { atomic: true }),
  );
  for (const { line, message } of retried.refused) if (errors.has(line)) errors.set(line, message);
  for (const line of retried.good) {
    errors.delete(line.line);
    report.rejected--;
    accept(line);
  }
  for (const [line, message] of [...errors].slice(0, maxErrors)) report.errors.push({ line, message });
  return report;
}

/**
 * The refused lines that are tried again, up to `atomicLimits`: of each id the last one, and none of an id that a later
 * accepted line has.
 */
class LinesToRetry<Input> {
  readonly #byId = new Map<number, GoodLine<Input>>();
  #bytes = 0;

  constructor(readonly idOf: (input: Input) => number) {}

  refused(line: GoodLine<Input>): void {
    this.accepted(line);
    if (this.#byId.size >= atomicLimits.lines || this.#bytes + line.bytes > atomicLimits.bytes) return;
    this.#byId.set(this.idOf(line.input), line);
    this.#bytes += line.bytes;
  }

  /** Forgets the earlier line with the same id. */
  accepted({ input }: GoodLine<Input>): void {
    const id = this.idOf(input);
    this.#bytes -= this.#byId.get(id)?.bytes ?? 0;
    this.#byId.delete(id);
  }

  lines(): GoodLine<Input>[] {
    return [...this.#byId.values()];
  }
}

/** A refused line can keep a name that another line needs, so each round may refuse more. */
const maxRounds = 8;

/**
 * Stores lines atomically without those that are refused, in at most `maxRounds` transactions. After the last of them,
 * none is stored.
 */
async function keptTogether<Input>(
  lines: readonly GoodLine<Input>[],
  keepAll: (good: readonly GoodLine<Input>[]) => Promise<BatchResult>,
): Promise<ReadLines<Input>> {
  const refused: RefusedLine[] = [];
  let good = [...lines];
  for (let round = 0; round < maxRounds && good.length > 0; round++) {
    try {
      await keepAll(good);
      return { good, refused };
    } catch (error) {
      if (!(error instanceof BatchRefused)) throw error;
      const { results } = error;
      for (const [i, { line }] of good.entries()) {
        const message = results[i] ?? null;
        if (message !== null) refused.push({ line, message });
      }
      good = good.filter((_, i) => (results[i] ?? null) === null);
    }
  }
  return { good: [], refused };
}

/**
 * Applies an NDJSON stream as a whole: if any line is refused, none is stored. Throws `body_too_large` above
 * `atomicLimits`.
 */
export async function applyAtomically<Input>(
  stream: AsyncIterable<Uint8Array>,
  { read, keep, ignored, idOf }: Intake<Input>,
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
    duplicate_ids: taken.map(({ input }) => input).filter(duplicates(idOf)).length,
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
  good: readonly GoodLine<Input>[],
  keep: Keep<Input>,
  report: BatchReport,
  mode: BatchMode = {},
): Promise<BatchResult> {
  if (good.length === 0) {
    // Yields to the event loop, because a stream of invalid lines has no other wait.
    await nextTurn();
    return [];
  }
  try {
    return await keep(
      good.map(({ input }) => input),
      mode,
    );
  } catch (error) {
    if (!(error instanceof DomainError) || error.code !== "unavailable") throw error;
    const message = `${error.message} ${report.accepted} lines of this batch had been stored before; it is safe to send all of it again.`;
    throw new DomainError("unavailable", message, error.details);
  }
}

interface GoodLine<Input> {
  readonly line: number;
  readonly bytes: number;
  readonly input: Input;
}

interface RefusedLine {
  readonly line: number;
  readonly message: string;
}

interface ReadLines<Input> {
  readonly good: GoodLine<Input>[];
  readonly refused: RefusedLine[];
}

async function readLines<Input>(lines: readonly Line[], read: ReadLine<Input>): Promise<ReadLines<Input>> {
  const result: ReadLines<Input> = { good: [], refused: [] };
  const slice = new TimeSlice();
  for (const line of lines) {
    const found = readLine(line, read);
    if (typeof found === "string") result.refused.push({ line: line.number, message: found });
    else result.good.push({ line: line.number, bytes: line.bytes?.byteLength ?? 0, input: found.input });
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
