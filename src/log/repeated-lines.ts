import { minute } from "../domain/time.ts";
import type { Log } from "./log.ts";

/** Lines of an event with the same reason that are logged in a minute. */
const linesAMinute = 10;
/** So many reasons are told apart. */
const mostReasons = 100;

/** The lines of a reason within a minute. */
interface Lines {
  since: number;
  logged: number;
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
  const reasons = new Map<string, Lines>();
  return (reason, fields) => {
    const at = now();
    const lines = reasons.get(reason) ?? { since: at, logged: 0, leftOut: 0 };
    if (!reasons.has(reason) && reasons.size === mostReasons) reasons.clear();
    reasons.set(reason, lines);
    // Also where the clock was set back.
    if (Math.abs(at - lines.since) >= minute) Object.assign(lines, { since: at, logged: 0 });
    if (lines.logged === linesAMinute) {
      lines.leftOut++;
      return;
    }
    const isLast = ++lines.logged === linesAMinute;
    log.error(event, {
      ...fields,
      ...(lines.leftOut > 0 && { left_out: lines.leftOut }),
      ...(isLast && { further: "with this reason are left out for up to a minute" }),
    });
    lines.leftOut = 0;
  };
}
