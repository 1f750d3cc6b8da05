import type { StatisticCounter, StatisticRow } from "../domain/operations/statistics.ts";
import { second } from "../domain/time.ts";
import type { Log } from "../log/log.ts";
import { pause, type Service } from "../runtime/services.ts";
import type { Store } from "../store/store.ts";

/** The interval at which counts are stored. A crash loses the counts since the last time. */
const storeEveryMs = 10 * second;
/** The most rows of one commit. */
const rowsAtOnce = 200;

/**
 * Returns the service that stores the counts of a counter at intervals and when it is stopped.
 *
 * @param stored called after each interval with the stored rows, perhaps none
 */
export function storingStatistics(
  counter: StatisticCounter,
  store: Pick<Store, "statistics">,
  log: Log,
  stored: (rows: readonly StatisticRow[]) => void,
): Service {
  const flush = async (): Promise<void> => {
    const rows = counter.take();
    for (let at = 0; at < rows.length; at += rowsAtOnce) {
      try {
        await store.statistics.add(rows.slice(at, at + rowsAtOnce));
      } catch (error) {
        // The remaining counts are lost: they are not worth retries.
        return log.failure("statistics_failed", error, { rows: rows.length - at });
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
      // Stopped while counts were being stored, it has others since.
      await flush();
    },
  };
}
