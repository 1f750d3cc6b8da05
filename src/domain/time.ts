/**
 * Milliseconds since the epoch as ISO 8601 in UTC, for example `2026-01-14T16:08:06.123Z`. Throws a `RangeError` for an
 * invalid time.
 */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** The same for a time that may be absent. */
export function isoTimeOrNull(ms: number | null): string | null {
  return ms === null ? null : isoTime(ms);
}

/**
 * Whether the date of a well-formed timestamp exists in the calendar: `Date.parse` turns the 30th of February into
 * the 1st of March.
 */
export function hasRealDate(text: string): boolean {
  const time = Date.parse(text);
  return !Number.isNaN(time) && isoTime(time).slice(0, 10) === text.slice(0, 10);
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
