/**
 * Milliseconds since the epoch as ISO 8601 in UTC, for example `2026-01-14T16:08:06.123Z`. Throws a `RangeError` for an
 * invalid time.
 */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** Milliseconds since the epoch as `isoTime` writes them; null for an absent time. */
export function isoTimeOrNull(ms: number | null): string | null {
  return ms === null ? null : isoTime(ms);
}

/**
 * The form of a timestamp (RFC 3339): in UTC with `Z` or with an offset, with or without a fraction of a second. `T`
 * and `Z` may be small letters.
 */
export const timestampPattern =
  "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])[Tt]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$";

const timestampParts = /^(.{10})[Tt](.{8})(\.[0-9]+)?([Zz]|[+-].{5})$/;

/**
 * Returns a timestamp of `timestampPattern` in UTC, like `2026-01-14T16:08:06.123Z`. The fraction of the second stays
 * as it is. Returns null for a date that does not exist, and for a year that has not four digits in UTC.
 */
export function utcTime(text: string): string | null {
  const [, date = "", time = "", fraction = "", zone = ""] = timestampParts.exec(text) ?? [];
  const local = Date.parse(`${date}T${time}Z`);
  // `Date.parse` turns the 30th of February into the 1st of March.
  if (Number.isNaN(local) || isoTime(local).slice(0, 10) !== date) return null;
  const [, sign, hours, minutes] = /^([+-])(.{2}):(.{2})$/.exec(zone) ?? [];
  const offsetMs = sign ? (Number(hours) * hour + Number(minutes) * minute) * (sign === "+" ? 1 : -1) : 0;
  const utc = isoTime(local - offsetMs);
  return utc.length === isoLength ? `${utc.slice(0, 19)}${fraction}Z` : null;
}

/** The length of the result of `isoTime` for a year of four digits. */
const isoLength = 24;

/** Returns a timestamp that `utcTime` takes in milliseconds since the epoch, else NaN. */
export function timeMs(text: string): number {
  return Date.parse(utcTime(text) ?? "");
}

/** Whether the date of a timestamp exists in the calendar. */
export function hasRealDate(text: string): boolean {
  return utcTime(text) !== null;
}

/** The problem of a timestamp whose date does not exist. */
export const noRealDate = "is not a date that exists";

export const second = 1_000;
export const minute = 60 * second;
export const hour = 60 * minute;
export const day = 24 * hour;

/** A duration for people, in the largest unit of which it has at least two. */
export function shownDuration(ms: number): string {
  const units: [string, number][] = [
    ["days", day],
    ["hours", hour],
    ["minutes", minute],
  ];
  const [name, unit] = units.find(([, unit]) => ms >= 2 * unit) ?? ["seconds", second];
  const count = Math.max(0, Math.floor(ms / unit));
  return count === 1 ? "1 second" : `${count} ${name}`;
}

const units: Readonly<Record<string, number>> = { s: second, m: minute, min: minute, h: hour, d: day };

/** Milliseconds of a duration like `90s`, `30m`, `1h` or `2d`; null for any other text. */
export function durationMs(text: string): number | null {
  const [, count = "", unit = ""] = /^([1-9][0-9]{0,5})(s|m|min|h|d)$/.exec(text) ?? [];
  const ms = units[unit];
  return ms === undefined ? null : Number(count) * ms;
}
