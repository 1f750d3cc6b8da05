import type { DeliveryScope } from "../domain/delivery-log.ts";
import type { NewReplay, Replay } from "../domain/replays.ts";

/** Replays: jobs that send a range of deliveries again. */
export interface ReplayStore {
  /** Rejects with `conflict` as `checkBeside` does, and when nothing can be sent to the application now. */
  create(replay: NewReplay): Promise<Replay>;
  find(scope: DeliveryScope, id: string): Promise<Replay | null>;
  /** The newest replays, newest first. */
  page(scope: DeliveryScope, limit: number): Promise<Replay[]>;
  /** Ends a running replay. Deliveries that it has queued are still sent. Resolves to false for an unknown id. */
  cancel(scope: DeliveryScope, id: string, now: number): Promise<boolean>;
  running(): Promise<Replay[]>;
  /**
   * Does a small step of a running replay: makes some of its deliveries due, unless many deliveries of the application
   * already are. Stores them together with the replay's position. Resolves to false when there was nothing to do.
   */
  advance(id: string, now: number): Promise<boolean>;
}
