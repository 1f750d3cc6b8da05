import { second } from "../domain/time.ts";
import { errorFields, type Log } from "../log/log.ts";

/** How often the store is looked through: for longer than a statement takes whose answer was lost. */
const looks = 15;
const everyMs = second;

/** Publishing that the storage has not answered: its events may have been kept, or may be kept yet. */
export interface Unanswered {
  /**
   * Whether that is not settled. Until then everything is claimed from the store, so that nothing newer overtakes what may
   * be there.
   */
  readonly isOpen: boolean;
  /** To be called when publishing has ended without an answer. */
  note(): void;
}

/**
 * @param look looks for pending deliveries in the store
 * @param hasEnded whether there is no dispatcher any more to send them
 */
export function createUnanswered(look: () => Promise<void>, hasEnded: () => boolean, log: Log): Unanswered {
  let left = 0;
  const settle = async (): Promise<void> => {
    for (; left > 0 && !hasEnded(); left--) {
      await Bun.sleep(everyMs);
      if (!hasEnded()) await look().catch((error) => log.error("look_failed", errorFields(error)));
    }
    left = 0;
  };
  return {
    get isOpen() {
      return left > 0;
    },
    note() {
      const isSettling = left > 0;
      left = looks;
      if (!isSettling) void settle();
    },
  };
}
