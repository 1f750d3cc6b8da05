import { type Log, type LogLevel, loggingErrors, logLevels, type RequestLine } from "../runtime/log.ts";
import { clockTime, printable, type Terminal } from "../runtime/terminal.ts";
import { versionWithCommit } from "../runtime/version.ts";
import type { Config } from "../server/settings/config.ts";
import type { DevFacts, DevPlatform } from "./platform.ts";

/**
 * Returns the welcome text, which fits 80 by 24 characters. Each curl command is one line, so that it can be copied.
 * `notes` come first, for example that a port was taken. `stored` are the names of the stored profiles.
 */
export function banner(
  { facts, isNew }: { readonly facts: DevFacts } & Pick<DevPlatform, "isNew">,
  { data, adminKey }: Pick<Config, "data" | "adminKey">,
  { notes, stored }: { readonly notes: readonly string[]; readonly stored: readonly string[] },
  { style }: Pick<Terminal, "style">,
): string {
  const { public_url, admin_url, receiver_url, webhook_url, sign_in_url, query, users, secrets } = facts;
  const isOwn = webhook_url === receiver_url;
  const heading = (text: string) => style("bold", text);
  const row = (name: string, value: string, remark = "") =>
    `  ${name.padEnd(14)} ${style("cyan", value)}${remark && ` ${style("dim", remark)}`}`;
  const authorization = `-H 'Authorization: Bearer ${secrets.access_token}'`;
  const profiles = stored.length > 0 ? [row("profiles", stored.join(", "), "(for onair --profile)")] : [];
  const found = isNew ? "new sample data" : "the data of the last run";
  return `${[
    heading(`On Air ${versionWithCommit} is running, with ${found} in ${data}`),
    ...notes.map((note) => style("yellow", `  ${note}`)),
    row("API", public_url, "(open it in a browser; documentation: /docs)"),
    row("admin API", admin_url, "(open it for the console)"),
    row("operator key", adminKey === null ? secrets.admin_key : "as set by ONAIR_ADMIN_KEY"),
    "",
    heading("Dev app, with the scopes users:read and events:subscribe"),
    row("client_id", secrets.client_id),
    row("client_secret", secrets.client_secret),
    row("access token", secrets.access_token),
    row("webhook URL", webhook_url ?? "none", isOwn ? "(prints what arrives)" : "(as it was set)"),
    row("webhook secret", secrets.webhook_secret),
    row("sign in", sign_in_url, "(a user's token, in the browser)"),
    ...profiles,
    "",
    heading("Try it in another terminal"),
    `curl '${public_url}/public/v1/users/${users[0]?.username}' ${authorization}`,
    `curl '${public_url}/public/v1/users/search?query=${query}' ${authorization}`,
    `curl '${public_url}/public/v1/categories?limit=3'`,
    "",
    heading(`Ctrl-C stops it. To start over, stop it and delete ${data}`),
  ].join("\n")}\n`;
}

interface DevLogOptions {
  readonly terminal: Terminal;
  readonly level: LogLevel;
  readonly now: () => number;
  /** Whether the receiver has printed a delivery. The log leaves out printed deliveries. */
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
