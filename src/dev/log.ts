import { type Log, type LogLevel, loggingErrors, logLevels, type RequestLine } from "../runtime/log.ts";
import { clockTime, printable, type Terminal } from "../runtime/terminal.ts";

interface DevLogOptions {
  readonly terminal: Terminal;
  readonly level: LogLevel;
  readonly now: () => number;
  /** Whether the receiver has printed a delivery; the log then leaves it out. */
  readonly isPrinted: (deliveryId: string) => boolean;
}

type Fields = Readonly<Record<string, unknown>>;

/** Events whose facts are in the banner. */
const inBanner = new Set(["operator_keys"]);

/** Makes a log for developers: one line for each request and delivery, cut to the terminal, and complete errors. */
export function devLog({ terminal, level, now, isPrinted }: DevLogOptions): Log {
  const least = logLevels.indexOf(level);
  const shows = (one: LogLevel) => logLevels.indexOf(one) >= least;
  const { style } = terminal;
  const timed = (text: string) => `${style("dim", clockTime(now()))} ${text}`;

  const request = ({ method, path, status, durationMs }: RequestLine) => {
    const colour = status >= 500 ? "red" : status >= 400 ? "yellow" : "green";
    const took = style("dim", `(${durationMs.toFixed(1)} ms)`);
    terminal.line(timed(`${style(colour, String(status).padEnd(8))} ${method} ${printable(path)} ${took}`));
  };

  const delivery = (fields: Fields) => {
    const { delivery_id, application_id, type, outcome, status, duration_ms, error, decision } = fields;
    const delivered = outcome === "ok";
    if (delivered && isPrinted(String(delivery_id))) return;
    const to = `${style("cyan", printable(String(type)))} to ${application_id}`;
    if (delivered) terminal.line(timed(`${style("green", "sent    ")} ${to}: ${status} (${duration_ms} ms)`));
    else
      terminal.print(
        `${timed(`${style("red", "failed  ")} ${to}: ${printable(String(error))} Next: ${decision}.`)}\n`,
      );
  };

  const other = (one: "debug" | "info" | "warn" | "error", event: string, fields: Fields) => {
    const { stack, ...rest } = fields;
    const colour = one === "error" ? "red" : one === "warn" ? "yellow" : "dim";
    const pairs = Object.entries(rest)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => `${name}=${printable(String(value))}`);
    const text = `${event} ${pairs.join(" ")}`;
    terminal.print(`${timed(`${style(colour, one.padEnd(8))} ${text}`)}\n`);
    if (typeof stack === "string") terminal.print(`${style("dim", stack)}\n`);
  };

  const at = (one: "debug" | "info" | "warn" | "error") => {
    if (!shows(one)) return () => {};
    return (event: string, fields: Fields = {}) => {
      if (inBanner.has(event)) return;
      if (event === "delivery" && one === "info") delivery(fields);
      else other(one, event, fields);
    };
  };
  const warn = at("warn");
  const { flushRepeated, ...errorMethods } = loggingErrors({ warn, error: at("error"), now });
  return {
    replica: null,
    debug: at("debug"),
    info: at("info"),
    warn,
    ...errorMethods,
    request: shows("info") ? request : () => {},
    raw() {},
    flush: async () => flushRepeated(),
    linesLeftOut: 0,
  };
}
