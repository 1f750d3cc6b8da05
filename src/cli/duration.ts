import { durationMs } from "../domain/time.ts";

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
