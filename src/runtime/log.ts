import { DomainError } from "../domain/errors.ts";
import { StoreError } from "../domain/store.ts";
import { isoTime, minute } from "../domain/time.ts";
import { LogOutput } from "./log-output.ts";

export const logLevels = ["debug", "info", "warn", "error", "off"] as const;
export type LogLevel = (typeof logLevels)[number];
export const logFormats = ["auto", "text", "json"] as const;

/** Every event that is logged as an error; `/metrics` has a counter for each. */
export const errorEvents = [
  "attempt_failed",
  "audit_failed",
  "backup.failed",
  "backup.not_listed",
  "certificate_not_taken",
  "claim_failed",
  "endpoint_state_refused",
  "event_body_damaged",
  "events_conflicted",
  "internal_error",
  "look_up_failed",
  "record_failed",
  "result_refused",
  "service_failed",
  "settings_not_taken",
  "start_failed",
  "statistics_failed",
  "stop_failed",
  "stop_late",
  "storage_damaged",
  "storage_failing",
  "storage_full",
  "storage_replaced",
  "storage_stalled",
  "storage_taken",
  "storage_unreachable",
  "stream_failed",
  "thread_failed",
  "unavailable",
] as const;
export type ErrorEvent = (typeof errorEvents)[number];

/** The fields of a request's log line. */
export interface RequestLine {
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly durationMs: number;
  /** The client's address; "" when unknown. */
  readonly client: string;
  readonly applicationId: string | null;
  /** null if the request is not traced. */
  readonly traceId: string | null;
}

/** Writes one line of JSON for each log event; values must not hold secrets. */
export interface Log {
  debug(event: string, fields?: Record<string, unknown>): void;
  info(event: string, fields?: Record<string, unknown>): void;
  warn(event: string, fields?: Record<string, unknown>): void;
  /** Logs an error that happens once, such as a change of state. `failure` is for errors at any rate. */
  error(event: ErrorEvent, fields?: Record<string, unknown>): void;
  /**
   * Logs an error that was caught, with its stack. The same error of the same event may occur at any rate: it is logged
   * once a minute, with its number.
   */
  failure(event: ErrorEvent, error: unknown, fields?: Record<string, unknown>): void;
  /** Logs what may occur at any rate: once a minute for an event and a reason, with its number. */
  repeated(level: "warn", event: string, reason: string, fields?: Record<string, unknown>): void;
  repeated(level: "error", event: ErrorEvent, reason: string, fields?: Record<string, unknown>): void;
  /** Logs a request. */
  request(line: RequestLine): void;
  /** Writes complete lines of another log. */
  raw(lines: Uint8Array<ArrayBuffer>): void;
  /** Writes the buffered lines, and the repeated lines that wait for the end of their minute. */
  flush(): Promise<void>;
  /** The number of dropped lines since the start. */
  readonly linesLeftOut: number;
  /** Counts an error of another thread's log. */
  countError(event: ErrorEvent): void;
  /** The number of this replica, which each line has; null for a server on a data directory. */
  readonly replica: number | null;
  /** How often each error occurred since the start, on every level of the log, repeated ones included. */
  readonly errors: Readonly<Record<ErrorEvent, number>>;
}

const flushAfterMs = 100;
/** The most lines in the buffer. */
const mostLines = 256;

/** The destination of lines. Neither method may throw. */
interface LogSink {
  write(lines: Uint8Array<ArrayBuffer>): void;
  flush(): Promise<void>;
  readonly linesLeftOut: number;
  /** Counts errors in place of this log. */
  countError?(event: ErrorEvent): void;
}

/**
 * A log on standard error. Lines are buffered for up to a tenth of a second, because a system call for each request
 * would cost more than the request.
 *
 * @param replica the number of this replica, which each line has as a field; null for none
 */
export function createLog(
  level: LogLevel,
  now: () => number = Date.now,
  sink: LogSink = new LogOutput({ now }),
  replica: number | null = null,
): Log {
  const least = logLevels.indexOf(level);
  const isWritten = (name: LogLevel) => logLevels.indexOf(name) >= least;
  const common = replica === null ? {} : { replica };
  const time = timeSource(now);
  let lines: string[] = [];
  const drain = () => {
    if (lines.length > 0) sink.write(encoder.encode(lines.join("")));
    lines = [];
  };
  const write = (line: object) => {
    if (lines.length === 0) setTimeout(drain, flushAfterMs);
    if (lines.push(`${JSON.stringify(line)}\n`) === mostLines) drain();
  };
  const at = (name: LogLevel) => {
    if (!isWritten(name)) return () => {};
    return (event: string, fields: Record<string, unknown> = {}) =>
      write({ time: time(), level: name, event, ...common, ...fields });
  };
  const logsRequests = isWritten("info");
  const info = at("info");
  const warn = at("warn");
  const { flushRepeated, ...errorMethods } = loggingErrors({
    warn,
    error: at("error"),
    now,
    ...(sink.countError && { countError: sink.countError }),
  });
  return {
    replica,
    debug: at("debug"),
    info,
    warn,
    ...errorMethods,
    request({ requestId, method, path, status, durationMs, client, applicationId, traceId }) {
      if (!logsRequests) return;
      // One literal, because merging objects takes longer than all the rest of the line. What is undefined is left out.
      write({
        time: time(),
        level: "info",
        event: "request",
        replica: replica ?? undefined,
        request_id: requestId,
        method,
        path,
        status,
        duration_ms: Math.round(durationMs * 1000) / 1000,
        client: client === "" ? undefined : client,
        application_id: applicationId ?? undefined,
        trace_id: traceId ?? undefined,
      });
    },
    raw(lines) {
      drain();
      sink.write(lines);
    },
    flush() {
      flushRepeated();
      drain();
      return sink.flush();
    },
    get linesLeftOut() {
      return sink.linesLeftOut;
    },
  };
}

const encoder = new TextEncoder();

/** Returns a function that returns the time as `isoTime` writes it. Lines of one millisecond share it. */
function timeSource(now: () => number): () => string {
  let ms = Number.NaN;
  let text = "";
  return () => {
    const at = now();
    if (at !== ms) text = isoTime(at);
    ms = at;
    return text;
  };
}

interface ErrorWriters {
  warn(event: string, fields?: Record<string, unknown>): void;
  error(event: string, fields?: Record<string, unknown>): void;
  readonly now: () => number;
  /** Counts errors in place of the returned log. */
  countError?(event: ErrorEvent): void;
}

/** Returns the methods of a log that count errors and gather repeated ones. They write by `warn` and `error`. */
export function loggingErrors({ warn, error: write, now, ...methods }: ErrorWriters) {
  const errors = Object.fromEntries(errorEvents.map((event) => [event, 0])) as Record<ErrorEvent, number>;
  const countError =
    methods.countError ??
    ((event: ErrorEvent) => {
      errors[event]++;
    });
  const repeats = new RepeatedLines(now);
  const repeated = (level: "warn" | "error", event: string, reason: string, fields = {}) => {
    // Errors have the type ErrorEvent; see `Log`.
    if (level === "error") countError(event as ErrorEvent);
    repeats.add(event, reason, fields, (logged) => (level === "error" ? write : warn)(event, logged));
  };
  return {
    error(event: ErrorEvent, fields?: Record<string, unknown>) {
      countError(event);
      write(event, fields);
    },
    failure(event: ErrorEvent, error: unknown, fields: Record<string, unknown> = {}) {
      repeated("error", event, kindOf(error), { ...fields, ...errorFields(error) });
    },
    repeated,
    countError,
    errors: errors as Log["errors"],
    /** Writes the repeated lines that wait for the end of their minute. */
    flushRepeated: () => repeats.flush(),
  };
}

/** What errors of the same cause have in common: name and message without numbers, and the innermost frame. */
function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const frame = /^ +at .*$/m.exec(error.stack ?? "")?.[0] ?? "";
  return `${error.name}: ${error.message.replace(/\d+/g, "#")}${frame}`;
}

/** The log fields of an error: name, message, cause, and the stack of one that is a bug. */
export function errorFields(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { error: String(error) };
  // The message of such an error says what is wrong, such as a full disk, and what to do.
  const isExpected = error instanceof DomainError || error instanceof StoreError;
  return {
    error: `${error.name}: ${error.message}`,
    ...(!isExpected && { stack: error.stack }),
    cause: error.cause && String(error.cause),
  };
}

/** The most kinds of lines that are counted separately. */
const mostKinds = 100;

type Fields = Record<string, unknown>;
type Write = (fields: Fields) => void;

/** A kind of line within a minute. */
interface Kind {
  since: number;
  /** How often the kind occurred since its last line. */
  repeated: number;
  /** Writes the last line of the kind. */
  writeLast: () => void;
}

/**
 * Lets each kind of line through once a minute, because what fails for a while fails for each request or each second.
 * The first line is written at once. A minute after it, the last one is written with the number of all since
 * (`repeated`).
 */
export class RepeatedLines {
  readonly #kinds = new Map<string, Kind>();
  readonly #now: () => number;
  #isWaiting = false;

  readonly #inAMinute: (work: () => void) => void;

  /** @param inAMinute runs something a minute later, if the process lives on */
  constructor(
    now: () => number,
    inAMinute = (work: () => void): void => void setTimeout(work, minute).unref(),
  ) {
    this.#now = now;
    this.#inAMinute = inAMinute;
  }

  /** @param event the kind of a line for which there is no space to be counted separately */
  add(event: string, reason: string, fields: Fields, write: Write): void {
    const at = this.#now();
    const own = `${event}\n${reason}`;
    if (!this.#kinds.has(own) && this.#kinds.size >= mostKinds) this.#writeDue(at);
    const key = this.#kinds.has(own) || this.#kinds.size < mostKinds ? own : event;
    const kind = this.#kinds.get(key);
    if (!kind) {
      this.#kinds.set(key, { since: at, repeated: 0, writeLast: () => {} });
      this.#wait();
      write(fields);
      return;
    }
    kind.repeated++;
    kind.writeLast = () => write({ ...fields, repeated: kind.repeated });
    if (isOver(kind, at)) this.#writeKind(kind, at);
  }

  /** Writes the repeated lines that wait for the end of their minute. */
  flush(): void {
    for (const kind of this.#kinds.values()) if (kind.repeated > 0) this.#writeKind(kind, kind.since);
  }

  #writeKind(kind: Kind, since: number): void {
    kind.writeLast();
    kind.repeated = 0;
    kind.since = since;
  }

  /** Writes the kinds whose minute is over. Kinds that did not occur in that minute are forgotten. */
  #writeDue(at: number): void {
    for (const [key, kind] of this.#kinds) {
      if (!isOver(kind, at)) continue;
      if (kind.repeated === 0) this.#kinds.delete(key);
      else this.#writeKind(kind, at);
    }
  }

  #wait(): void {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    this.#inAMinute(() => {
      this.#isWaiting = false;
      this.#writeDue(this.#now());
      if (this.#kinds.size > 0) this.#wait();
    });
  }
}

/** Whether the minute of a kind is over. The difference is absolute, because the clock may have been set back. */
const isOver = ({ since }: Kind, at: number) => Math.abs(at - since) >= minute;
