import { minute } from "../domain/time.ts";
import type { Log } from "./log.ts";

/** The most lines with the same reason per minute. */
const linesAMinute = 10;
/** The most reasons that are counted separately. */
const mostReasons = 100;

/** The counts of a reason within a minute. */
interface Lines {
  since: number;
  logged: number;
  leftOut: number;
}

/**
 * Returns a function that logs an error which may occur in each request, for example while a service is unavailable. Of
 * lines with the same reason, only the first ones per minute are logged. The last of them says that further ones are
 * left out, and the next line has their number.
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
    // Absolute, because the clock may have been set back.
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
