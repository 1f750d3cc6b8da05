export const logLevels = ["debug", "info", "warn", "error", "off"] as const;
export type LogLevel = (typeof logLevels)[number];

/** Writes one line of JSON for each thing that happened; values must hold no secret. */
export interface Log {
  debug(event: string, fields?: Record<string, unknown>): void;
  info(event: string, fields?: Record<string, unknown>): void;
  warn(event: string, fields?: Record<string, unknown>): void;
  error(event: string, fields?: Record<string, unknown>): void;
  flush(): Promise<void>;
}

const flushAfterMs = 100;

/**
 * A log on standard error. Lines are gathered for up to 100 ms, because a system call for each request would cost
 * more than the request.
 */
export function createLog(level: LogLevel, now: () => number = Date.now): Log {
  const sink = Bun.stderr.writer();
  const least = logLevels.indexOf(level);
  let scheduled = false;
  const flush = async () => {
    scheduled = false;
    await sink.flush();
  };
  const at = (name: LogLevel) => {
    if (logLevels.indexOf(name) < least) return () => {};
    return (event: string, fields: Record<string, unknown> = {}) => {
      sink.write(
        `${JSON.stringify({ time: new Date(now()).toISOString(), level: name, event, ...fields })}\n`,
      );
      if (!scheduled) setTimeout(flush, flushAfterMs);
      scheduled = true;
    };
  };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error"), flush };
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
