import type { DeliveryScope } from "../domain/delivery-log.ts";
import type { NewReplay, Replay } from "../domain/replays.ts";

/** Jobs that send a range of deliveries again. */
export interface ReplayStore {
  /** Rejects with `conflict`: see `checkBeside`; also where nothing can be sent to the application now. */
  create(replay: NewReplay): Promise<Replay>;
  find(scope: DeliveryScope, id: string): Promise<Replay | null>;
  /** Newest first. */
  page(scope: DeliveryScope, limit: number): Promise<Replay[]>;
  /** Ends one that is running; what it has queued is sent. Whether there is one of this id. */
  cancel(scope: DeliveryScope, id: string, now: number): Promise<boolean>;
  running(): Promise<Replay[]>;
  /**
   * Takes a small step of a running replay: makes some of its deliveries due, none while many of the application
   * are. What was queued and how far it has come are on disk together. Whether there was a step to take.
   */
  advance(id: string, now: number): Promise<boolean>;
}
