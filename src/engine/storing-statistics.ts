import type { StatisticCounter, StatisticRow } from "../domain/operations/statistics.ts";
import { second } from "../domain/time.ts";
import { errorFields, type Log } from "../log/log.ts";
import { pause, type Service } from "../runtime/services.ts";
import type { Store } from "../store/store.ts";

/** Counts are stored so often; a crash loses those since the last time. */
const storeEveryMs = 10 * second;
/** Rows of one commit. */
const rowsAtOnce = 200;

/**
 * The service that stores what a counter has counted, at intervals and at its end.
 *
 * @param stored called with what was stored, also with nothing
 */
export function storingStatistics(
  counter: StatisticCounter,
  store: Pick<Store, "statistics">,
  log: Log,
  stored: (rows: readonly StatisticRow[]) => void = () => {},
): Service {
  const flush = async (): Promise<void> => {
    const rows = counter.take();
    for (let at = 0; at < rows.length; at += rowsAtOnce) {
      try {
        await store.statistics.add(rows.slice(at, at + rowsAtOnce));
      } catch (error) {
        // Counts are not worth more than that: nothing waits for them.
        return log.error("statistics_failed", { rows: rows.length - at, ...errorFields(error) });
      }
    }
    stored(rows);
  };
  return {
    name: "statistics",
    async run(signal) {
      while (!signal.aborted) {
        await pause(storeEveryMs, signal);
        await flush();
      }
    },
  };
}
