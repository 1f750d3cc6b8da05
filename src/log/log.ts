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
  /** null if the request is not traced. */
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
  raw(lines: Uint8Array<ArrayBuffer>): void;
  /** Writes the buffered lines. */
  flush(): Promise<void>;
  /** The number of dropped lines since the start. */
  readonly linesLeftOut: number;
}

const flushAfterMs = 100;
/** The most lines in the buffer. */
const mostLines = 256;

/** The destination of lines. Neither method may throw. */
interface LogSink {
  write(lines: Uint8Array<ArrayBuffer>): void;
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
  let lines: string[] = [];
  const drain = () => {
    if (lines.length > 0) sink.write(encoder.encode(lines.join("")));
    lines = [];
  };
  const at = (name: LogLevel) => {
    if (logLevels.indexOf(name) < least) return () => {};
    return (event: string, fields: Record<string, unknown> = {}) => {
      if (lines.length === 0) setTimeout(drain, flushAfterMs);
      const line = JSON.stringify({ time: isoTime(now()), level: name, event, ...fields });
      if (lines.push(`${line}\n`) === mostLines) drain();
    };
  };
  const info = at("info");
  return {
    debug: at("debug"),
    info,
    warn: at("warn"),
    error: at("error"),
    request({ requestId, method, path, status, durationMs, client, applicationId, traceId }) {
      info("request", {
        request_id: requestId,
        method,
        path,
        status,
        duration_ms: Math.round(durationMs * 1000) / 1000,
        ...(client !== "" && { client }),
        ...(applicationId !== null && { application_id: applicationId }),
        ...(traceId !== null && { trace_id: traceId }),
      });
    },
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
