import { day, hour, minute, second } from "../domain/time.ts";

const units: Readonly<Record<string, number>> = { s: second, m: minute, min: minute, h: hour, d: day };

/** Milliseconds of a duration like `90s`, `30m`, `1h` or `2d`; undefined, with a mistake added, when it is none. */
export function readDuration(
  option: string,
  text: string | undefined,
  mistakes: string[],
): number | undefined {
  if (text === undefined) return undefined;
  const [, count = "", unit = ""] = /^([1-9][0-9]{0,5})(s|m|min|h|d)$/.exec(text) ?? [];
  const ms = units[unit];
  if (ms !== undefined) return Number(count) * ms;
  mistakes.push(`--${option} must be a duration like 90s, 30m, 1h or 2d, not "${text}"`);
  return undefined;
}
