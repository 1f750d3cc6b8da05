export const logLevels = ["debug", "info", "warn", "error", "off"] as const;
export type LogLevel = (typeof logLevels)[number];

/** What is told of a request. */
export interface RequestLine {
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly durationMs: number;
  readonly applicationId: string | null;
}

/** Writes one line of JSON for each thing that happened; values must hold no secret. */
export interface Log {
  debug(event: string, fields?: Record<string, unknown>): void;
  info(event: string, fields?: Record<string, unknown>): void;
  warn(event: string, fields?: Record<string, unknown>): void;
  error(event: string, fields?: Record<string, unknown>): void;
  /** The line of a request; apart from the others because there is one for each. */
  request(line: RequestLine): void;
  /** Whole lines that another log has made. */
  raw(lines: Uint8Array): void;
  flush(): Promise<void>;
}

const flushAfterMs = 100;
const bufferBytes = 256 * 1024;

/** Where the lines go; `write` must have taken the bytes when it returns. */
export interface LogSink {
  write(lines: Uint8Array): unknown;
  flush(): unknown;
}

/**
 * A log on standard error. Lines are gathered for up to 100 ms, because a system call for each request would cost
 * more than the request.
 */
export function createLog(
  level: LogLevel,
  now: () => number = Date.now,
  sink: LogSink = Bun.stderr.writer(),
): Log {
  const least = logLevels.indexOf(level);
  const buffer = Buffer.allocUnsafe(bufferBytes);
  let used = 0;
  const drain = () => {
    if (used > 0) sink.write(buffer.subarray(0, used));
    used = 0;
    return sink.flush();
  };
  const flush = async () => void (await drain());
  /** Copied at once, because lines that are kept as strings until they are written cost more than all the rest. */
  const write = (line: string, encoding: "utf8" | "latin1" = "utf8") => {
    if (line.length * 3 > bufferBytes - used) void drain();
    if (used === 0) setTimeout(drain, flushAfterMs);
    if (line.length * 3 > bufferBytes) sink.write(encoder.encode(line));
    else used += buffer.write(line, used, encoding);
  };
  const isOn = (name: LogLevel) => logLevels.indexOf(name) >= least;
  const time = isoClock(now);
  const at = (name: LogLevel) => {
    if (!isOn(name)) return () => {};
    return (event: string, fields: Record<string, unknown> = {}) => {
      write(`${JSON.stringify({ time: time(), level: name, event, ...fields })}\n`);
    };
  };
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    // Nothing in it is beyond ASCII, which takes two thirds of the time of UTF-8.
    request: isOn("info") ? (line) => write(requestLine(time(), line), "latin1") : () => {},
    raw(lines) {
      void drain();
      sink.write(lines);
    },
    flush,
  };
}

const encoder = new TextEncoder();

/** The same as `JSON.stringify` would write, at a third of its cost: a path of a URL holds nothing that needs quoting. */
function requestLine(time: string, line: RequestLine): string {
  const { requestId, method, path, status, durationMs, applicationId } = line;
  const application = applicationId === null ? "" : `,"application_id":"${applicationId}"`;
  return `{"time":"${time}","level":"info","event":"request","request_id":"${requestId}","method":"${method}","path":"${path}","status":${status},"duration_ms":${millisecondsOf(durationMs)}${application}}\n`;
}

const thousandths = Array.from({ length: 1000 }, (_, i) => `.${String(i).padStart(3, "0")}`);

/** To the microsecond. Made of two integers, because one fraction takes four times as long to write. */
function millisecondsOf(ms: number): string {
  const us = Math.round(ms * 1000);
  return `${Math.floor(us / 1000)}${thousandths[us % 1000]}`;
}

/** The time as ISO 8601, made anew only when the millisecond is another one. */
function isoClock(now: () => number): () => string {
  let at = Number.NaN;
  let text = "";
  return () => {
    const ms = now();
    if (ms !== at) {
      at = ms;
      text = new Date(ms).toISOString();
    }
    return text;
  };
}

/** What a log line may say of an unexpected error: name, message and stack. */
export function errorFields(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { error: String(error) };
  return {
    error: `${error.name}: ${error.message}`,
    stack: error.stack,
    cause: error.cause && String(error.cause),
  };
}
