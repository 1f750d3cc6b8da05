import { isoTime } from "../domain/time.ts";
import { LogOutput } from "./log-output.ts";

export const logLevels = ["debug", "info", "warn", "error", "off"] as const;
export type LogLevel = (typeof logLevels)[number];
export const logFormats = ["auto", "text", "json"] as const;

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
  /** null where the request is not traced. */
  readonly traceId: string | null;
}

/** Writes one line of JSON for each log event; values must not hold secrets. */
export interface Log {
  debug(event: string, fields?: Record<string, unknown>): void;
  info(event: string, fields?: Record<string, unknown>): void;
  warn(event: string, fields?: Record<string, unknown>): void;
  error(event: string, fields?: Record<string, unknown>): void;
  /** Logs a request. */
  request(line: RequestLine): void;
  /** Writes complete lines of another log. */
  raw(lines: Uint8Array): void;
  /** Writes the buffered lines. */
  flush(): Promise<void>;
  /** The number of dropped lines since the start. */
  readonly linesLeftOut: number;
}

const flushAfterMs = 100;
const bufferBytes = 256 * 1024;
/** Lines that wait to be written. */
const mostLines = 256;

/**
 * Makes the text of a line. Those of requests are made together, a tenth of a second later: the same code is several
 * times as fast in a row as between others.
 */
type Line = () => string;

/** The destination of lines; `write` must have copied the bytes when it returns, and neither method may throw. */
interface LogSink {
  write(lines: Uint8Array): void;
  flush(): Promise<void>;
  readonly linesLeftOut: number;
}

/**
 * A log on standard error. Lines are buffered for up to a tenth of a second, because a system call for each request
 * would cost more than the request.
 */
export function createLog(
  level: LogLevel,
  now: () => number = Date.now,
  sink: LogSink = new LogOutput({ now }),
): Log {
  const least = logLevels.indexOf(level);
  const buffer = Buffer.allocUnsafe(bufferBytes);
  let used = 0;
  let lines: Line[] = [];
  const send = () => {
    if (used > 0) sink.write(buffer.subarray(0, used));
    used = 0;
  };
  const put = (text: string) => {
    const most = text.length * 3;
    if (most > bufferBytes - used) send();
    if (most > bufferBytes) sink.write(encoder.encode(text));
    else used += buffer.write(text, used);
  };
  const drain = () => {
    const waiting = lines;
    lines = [];
    for (const line of waiting) put(line());
    send();
  };
  const write = (line: Line) => {
    if (lines.length === 0) setTimeout(drain, flushAfterMs);
    if (lines.push(line) === mostLines) drain();
  };
  const isOn = (name: LogLevel) => logLevels.indexOf(name) >= least;
  const at = (name: LogLevel) => {
    if (!isOn(name)) return () => {};
    return (event: string, fields: Record<string, unknown> = {}) => {
      // At once: fields may change, and what cannot be written is its caller's to know.
      const text = `${JSON.stringify({ time: isoTime(now()), level: name, event, ...fields })}\n`;
      write(() => text);
    };
  };
  /** Only the path and the client can hold characters that JSON escapes. */
  const request = (line: RequestLine) => {
    const ms = now();
    write(() => {
      const { requestId, method, path, status, durationMs, client, applicationId, traceId } = line;
      return `{"time":"${isoTime(ms)}","level":"info","event":"request","request_id":"${requestId}","method":"${method}","path":${JSON.stringify(path)},"status":${status},"duration_ms":${Math.round(durationMs * 1000) / 1000}${
        client === "" ? "" : `,"client":${JSON.stringify(client)}`
      }${applicationId === null ? "" : `,"application_id":"${applicationId}"`}${
        traceId === null ? "" : `,"trace_id":"${traceId}"`
      }}\n`;
    });
  };
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    request: isOn("info") ? request : () => {},
    raw(lines) {
      drain();
      sink.write(lines);
    },
    flush() {
      drain();
      return sink.flush();
    },
    get linesLeftOut() {
      return sink.linesLeftOut;
    },
  };
}

const encoder = new TextEncoder();

/** The log fields of an unexpected error: name, message and stack. */
export function errorFields(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { error: String(error) };
  return {
    error: `${error.name}: ${error.message}`,
    stack: error.stack,
    cause: error.cause && String(error.cause),
  };
}
