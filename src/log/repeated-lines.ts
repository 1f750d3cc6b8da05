import { minute } from "../domain/time.ts";
import type { Log } from "./log.ts";

/** Lines of an event with the same reason that are logged in a minute. */
const linesAMinute = 10;
/** So many reasons are told apart. */
const mostReasons = 100;

interface Told {
  since: number;
  lines: number;
  leftOut: number;
}

/**
 * Makes what logs an event that each request may meet while something is away: of those with the same reason only the first of
 * a minute. The last of them says that further ones are left out, and the next one after that how many they were.
 */
export function repeatedLines(
  log: Pick<Log, "error">,
  event: string,
  now: () => number,
): (reason: string, fields: Record<string, unknown>) => void {
  const reasons = new Map<string, Told>();
  return (reason, fields) => {
    const at = now();
    const told = reasons.get(reason) ?? { since: at, lines: 0, leftOut: 0 };
    if (!reasons.has(reason) && reasons.size === mostReasons) reasons.clear();
    reasons.set(reason, told);
    // Also where the clock was set back.
    if (Math.abs(at - told.since) >= minute) Object.assign(told, { since: at, lines: 0 });
    if (told.lines === linesAMinute) {
      told.leftOut++;
      return;
    }
    const isLast = ++told.lines === linesAMinute;
    log.error(event, {
      ...fields,
      ...(told.leftOut > 0 && { left_out: told.leftOut }),
      ...(isLast && { further: "with this reason are left out for up to a minute" }),
    });
    told.leftOut = 0;
  };
}
