import { createLog, type Log, type LogLevel } from "../../src/runtime/log.ts";

/** A log whose lines are kept. */
export function keptLog(
  level: LogLevel = "info",
  now: () => number = Date.now,
): { readonly log: Log; lines(): Promise<string[]> } {
  let text = "";
  const log = createLog(level, now, {
    write(lines) {
      text += Buffer.from(lines).toString();
    },
    flush: async () => {},
    linesLeftOut: 0,
  });
  return {
    log,
    async lines() {
      await log.flush();
      return text.split("\n").slice(0, -1);
    },
  };
}
