import { durationMs, second } from "../domain/time.ts";

/** Milliseconds of a duration like `90s`, `30m`, `1h` or `2d`; undefined, with a mistake added, when it is none. */
export function readDuration(
  option: string,
  text: string | undefined,
  mistakes: string[],
): number | undefined {
  if (text === undefined) return undefined;
  const ms = durationMs(text);
  if (ms !== null) return ms;
  mistakes.push(`--${option} must be a duration like 90s, 30m, 1h or 2d, not "${text}"`);
  return undefined;
}

/** Seconds of a duration, or of a number of seconds; undefined, with a mistake added, when it is neither. */
export function readSeconds(
  option: string,
  text: string | undefined,
  mistakes: string[],
): number | undefined {
  if (text === undefined) return undefined;
  if (/^[0-9]{1,15}$/.test(text)) return Number(text);
  const ms = readDuration(option, text, mistakes);
  return ms === undefined ? undefined : ms / second;
}
