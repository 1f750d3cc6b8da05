import { isoTime, second } from "../domain/time.ts";
import type { Log } from "../log/log.ts";
import { pause, type Service } from "../runtime/services.ts";
import { heldSetting } from "../store/settings.ts";
import type { Store } from "../store/store.ts";

/** A release is noticed so soon. */
const lookEveryMs = second;

/** Whether everything that is sent by itself waits: deliveries, and notices to the operator. */
export interface DeliveryHold {
  readonly isHeld: boolean;
  /** Waits for the release, which is stored: by this process or another, and calls `released`. */
  readonly service: (released: () => void) => Service;
}

interface HoldOptions {
  readonly store: Pick<Store, "settings">;
  /** Whether the settings ask for it: then each start holds. */
  readonly isAsked: boolean;
  readonly now: () => number;
  readonly log: Log;
}

/** Reads whether deliveries are held, as in a copy that was restored. */
export async function openHold({ store, isAsked, now, log }: HoldOptions): Promise<DeliveryHold> {
  const { settings } = store;
  if (isAsked && !(await settings.get(heldSetting))) await settings.put(heldSetting, isoTime(now()));
  const since = await settings.get(heldSetting);
  let isHeld = Boolean(since);
  if (isHeld) {
    const message =
      "Nothing is sent, because another server may be sending the same: onair deliveries release lets this one begin";
    log.warn("deliveries_held", { since, message });
  }
  return {
    get isHeld() {
      return isHeld;
    },
    service: (released) => ({
      name: "held deliveries",
      async run(signal) {
        while (isHeld && !signal.aborted) {
          await pause(lookEveryMs, signal);
          if (signal.aborted || (await settings.get(heldSetting))) continue;
          isHeld = false;
          log.info("deliveries_released");
          released();
        }
      },
    }),
  };
}
