import { statSync } from "node:fs";
import { proxyOf } from "../../delivery/send/address.ts";
import { isWebhookSecret } from "../../delivery/signature.ts";
import { day, durationMs, hour, minute } from "../../domain/time.ts";
import { trustedProxies } from "../../runtime/client-address.ts";
import { readDatabaseUrl } from "../../store/location.ts";

/** A setting: its help, default and parser. */
export interface Setting<T> {
  readonly help: string;
  /** The placeholder of the value in the help; absent for a switch. */
  readonly value?: string;
  readonly default: string | null;
  /** Read only from the environment, because other users of the machine can see arguments. */
  readonly secret?: boolean;
  /** A variable of another standard with the same meaning; an empty one counts as not set. */
  readonly alias?: string;
  /** Whether the value may also be in a file, named by the variable with the suffix `_FILE`. */
  readonly file?: boolean;
  /**
   * Checks a value given in public (an argument or the settings file). Throws a `TypeError` if it must not be there.
   */
  readonly checkFlag?: (text: string) => void;
  /** Parses the setting. Throws a `TypeError` whose message continues the setting's name: "must be …". */
  readonly read: (text: string) => T;
}

/** Settings by name. */
export type SettingTable = Readonly<Record<string, Setting<unknown>>>;

/** The values of a table of settings; null for a setting without a default that is not given. */
export type ValuesOf<Table extends SettingTable> = {
  readonly [Name in keyof Table]:
    | ReturnType<Table[Name]["read"]>
    | ([Table[Name]["default"]] extends [null] ? null : never);
};

/*
 * Parsers of settings. Each throws a `TypeError` that says what the value must be.
 */

/** Returns the entries of a comma-separated list. */
export function entriesOf(text: string): string[] {
  return text
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
}

/** A whole number. */
export function integer(minimum: number, maximum: number) {
  return (text: string): number => {
    const value = /^[0-9]{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= minimum && value <= maximum) return value;
    throw new TypeError(`must be an integer from ${minimum} to ${maximum}`);
  };
}

/** A duration from a minute to 31 days, like `30m`, `24h` or `7d`. */
export function duration(text: string): string {
  const ms = durationMs(text);
  if (ms !== null && ms >= minute && ms <= 31 * day) return text;
  throw new TypeError("must be a duration from 1m to 31d, like 30m, 6h or 24h");
}

const units: Readonly<Record<string, number>> = { "": 1, MB: 1e6, GB: 1e9, TB: 1e12 };

/** A size, as in `20GB`; in bytes. */
export function size(minimum: number) {
  return (text: string): number => {
    const [, digits, unit = ""] = /^([0-9]{1,15})(|MB|GB|TB)$/.exec(text) ?? [];
    const bytes = Number(digits) * (units[unit] ?? Number.NaN);
    if (bytes >= minimum && Number.isSafeInteger(bytes)) return bytes;
    throw new TypeError(`must be a size of at least ${minimum / 1e6}MB, like 500MB, 20GB or 2TB`);
  };
}

const longestDays = 3_650;

/** A retention time: `7` or `7d` are days, `36h` hours. The value is the text; `keptMs` converts it. */
export function keptTime(text: string): string {
  if (!Number.isNaN(keptMs(text))) return text;
  throw new TypeError(`must be days from 1 to ${longestDays}, like 7, or hours, like 36h`);
}

/** Converts a value of `keptTime` to milliseconds; NaN for a text that it refuses. */
export function keptMs(text: string): number {
  const [, digits, unit] = /^([0-9]{1,6})([dh]?)$/.exec(text) ?? [];
  const ms = Number(digits) * (unit === "h" ? hour : day);
  return ms >= hour && ms <= longestDays * day ? ms : Number.NaN;
}

/**
 * Parses values by event type, as in `chat.message.sent=600`, separated by commas.
 * @param read parses a value; null for an invalid one
 * @param form describes the values, with an example, for the error message
 */
function byEventType<T>(text: string, read: (value: string) => T | null, form: string): Record<string, T> {
  return Object.fromEntries(
    entriesOf(text).map((entry) => {
      const [, name = "", raw = ""] = /^([a-z][a-z0-9_.]{0,99})=([0-9a-z]+)$/.exec(entry) ?? [];
      const value = read(raw);
      if (value !== null) return [name, value];
      throw new TypeError(`must be event types with ${form}, and "${entry}" is not one`);
    }),
  );
}

/** Retention times by event type, as in `chat.message.sent=6h`, separated by commas. */
export function keptTimes(text: string): Readonly<Record<string, string>> {
  const read = (time: string) => (Number.isNaN(keptMs(time)) ? null : time);
  return byEventType(text, read, "days or hours, like chat.message.sent=6h");
}

/** One of these values. */
export function oneOf<T extends string>(...words: readonly T[]) {
  return (text: string): T => {
    const found = words.find((word) => word === text);
    if (found !== undefined) return found;
    throw new TypeError(`must be one of ${words.join(", ")}`);
  };
}

/** A boolean. */
export function yesOrNo(text: string): boolean {
  return oneOf("true", "false", "1", "0")(text) === "true" || text === "1";
}

/** A text that is not empty. */
export function nonEmpty(text: string): string {
  if (text.trim() !== "" && !text.includes("\0")) return text;
  throw new TypeError("must not be empty");
}

/** A host to listen on; the brackets of IPv6 are removed. */
export function hostName(text: string): string {
  const bracketed = /^\[(.*)\]$/.exec(text)?.[1];
  const isHost =
    bracketed === undefined ? !/[[\]/\s\0]|^$/.test(text) : URL.canParse(`http://[${bracketed}]/`);
  if (isHost) return bracketed ?? text;
  throw new TypeError("must be an address or a name, like 127.0.0.1 or [::1], without a port");
}

/** Host names, separated by commas. */
export function hostNames(text: string): readonly string[] {
  const names = entriesOf(text);
  const wrong = names.find((name) => !/^[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_])?$/i.test(name));
  if (wrong === undefined) return names;
  throw new TypeError(`must be host names like admin.example.com, without a port, and "${wrong}" is not one`);
}

/** The URL of a page, normalized. */
export function pageUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url && /^https?:$/.test(url.protocol) && !url.hash && !url.username) return url.href;
  throw new TypeError(
    "must be an http or https URL without user and fragment, like https://example.com/login",
  );
}

/** Parses a base URL and returns it without a slash at its end. Throws a `TypeError` that states the valid form. */
export function baseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const plain = url && /^https?:$/.test(url.protocol) && !url.search && !url.hash && !url.username;
  if (plain) return url.href.replace(/\/+$/, "");
  throw new TypeError("must be an http or https URL without query, like https://api.example.com");
}

/** Addresses and networks, separated by commas. */
export function networks(text: string): readonly string[] {
  const entries = entriesOf(text);
  trustedProxies(entries);
  return entries;
}

const longestLifeSeconds = 31 * 24 * 3_600;

/** Seconds by event type, as in `chat.message.sent=600`, separated by commas. */
export function timesToLive(text: string): Readonly<Record<string, number>> {
  const read = (digits: string) =>
    /^[0-9]{1,7}$/.test(digits) && Number(digits) <= longestLifeSeconds ? Number(digits) : null;
  return byEventType(text, read, `seconds up to ${longestLifeSeconds}, like chat.message.sent=600`);
}

/** The URL of an HTTP proxy. */
export function proxyUrl(text: string): string {
  proxyOf(text);
  return text;
}

/** The URL of a PostgreSQL database. */
export function databaseUrl(text: string): string {
  readDatabaseUrl(text);
  return text;
}

/** Refuses a URL with a password. */
export function withoutPassword(text: string): void {
  // The URL parser rejects several hosts, which PostgreSQL allows.
  const has = URL.canParse(text) ? new URL(text).password !== "" : /\/\/[^/?#:]*:[^/?#]+@/.test(text);
  if (!has) return;
  throw new TypeError(
    "must be without a password, because other users of the machine can see it: set the environment variable instead, or put the URL into a file and set the variable with the suffix _FILE to its path",
  );
}

/** An operator key. Short keys are refused because they can be guessed. */
export function adminKey(text: string): string {
  if (/^[\x21-\x7e]{16,200}$/.test(text)) return text;
  throw new TypeError(
    'must be 16 to 200 printable characters without spaces; "openssl rand -hex 32" makes one',
  );
}

/** A secret that signs webhooks. */
export function webhookSecret(text: string): string {
  if (isWebhookSecret(text)) return text;
  throw new TypeError("must be whsec_ and 24 to 64 bytes in base64");
}

/** A colour in hexadecimal notation. */
export function hexColor(text: string): string {
  if (/^#(?:[0-9a-f]{3}|[0-9a-f]{6})$/i.test(text)) return text;
  throw new TypeError("must be a colour in hexadecimal notation, like #1a73e8");
}

/** The path of an existing picture. */
export function pictureFile(text: string): string {
  if (!/\.(?:svg|png|jpe?g|webp)$/i.test(text)) {
    throw new TypeError("must be an image file: .svg, .png, .jpg or .webp");
  }
  if (statSync(text, { throwIfNoEntry: false })?.isFile()) return text;
  throw new TypeError("must be an existing file");
}
