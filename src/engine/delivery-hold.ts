import { isoTime, second } from "../domain/time.ts";
import type { Log } from "../log/log.ts";
import { pause, type Service } from "../runtime/services.ts";
import { heldSetting } from "../store/settings.ts";
import type { Store } from "../store/store.ts";

/** The interval at which a release is looked for. */
const lookEveryMs = second;

/** The hold of everything that is sent automatically: deliveries, and notices to the operator. */
export interface DeliveryHold {
  readonly isHeld: boolean;
  /** Returns the service that waits until any process has stored the release, and then calls `released`. */
  readonly service: (released: () => void) => Service;
}

interface HoldOptions {
  readonly store: Pick<Store, "settings">;
  /** Whether the settings require a hold at each start. */
  readonly isRequired: boolean;
  readonly now: () => number;
  readonly log: Log;
}

/** Reads whether deliveries are held, for example in a restored copy; begins a hold if the settings require it. */
export async function openHold({ store, isRequired, now, log }: HoldOptions): Promise<DeliveryHold> {
  const { settings } = store;
  if (isRequired && !(await settings.get(heldSetting))) await settings.put(heldSetting, isoTime(now()));
  const since = await settings.get(heldSetting);
  let isHeld = Boolean(since);
  if (isHeld) {
    const message =
      "Deliveries are held, because another server may be sending the same ones; to start sending: onair deliveries release";
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
