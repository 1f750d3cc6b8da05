import type { DueDelivery } from "../domain/deliveries.ts";
import { second } from "../domain/time.ts";
import { errorFields, type Log } from "../log.ts";
import type { Store } from "../store/store.ts";
import type { RemovedSubscriptions } from "../store/subscriptions.ts";
import type { Lane } from "./lane.ts";
import type { Room } from "./room.ts";

/** Room for the deliveries of one event that is being published. */
export interface Reservation {
  /** Whether the dispatcher takes a delivery for this application at once; else it is left in the store. */
  takes(applicationId: string): boolean;
  /** Ends the reservation: these were taken and are on disk. To be called in any case. */
  end(taken: readonly DueDelivery[]): void;
}

export interface IntakeOptions {
  readonly store: { readonly deliveries: Pick<Store["deliveries"], "claim" | "giveBack"> };
  readonly log: Log;
  readonly now: () => number;
  readonly room: Room<Lane>;
  readonly lanes: ReadonlyMap<string, Lane>;
  readonly laneOf: (applicationId: string) => Lane;
  readonly hasTurn: (lane: Lane) => void;
  /** Puts back into the store what a lane has in memory. */
  readonly letGo: (lane: Lane) => void;
  readonly isStopping: () => boolean;
}

/** Takes deliveries into memory: what was just published, and what is due in the store. */
export interface Intake {
  reserve(): Reservation;
  claim(lane: Lane): Promise<void>;
  /** Of these subscriptions nothing is sent any more, and of no others anything less. */
  removed(subscriptions: RemovedSubscriptions): void;
  /** What the lane has in memory goes back into the store, which knows what became of it. */
  recall(lane: Lane): void;
}

/** What is read or committed while something else changes: the changes are applied when it arrives. */
interface Arrival {
  /** Ids of subscriptions. */
  readonly removed: Set<string>;
  readonly recalled: Set<Lane>;
}

/** Deliveries of one endpoint in memory that have not started. */
const maxQueuedPerEndpoint = 256;
const claimAgainAfterMs = second;

export function createIntake(options: IntakeOptions): Intake {
  const { store, log, now, room, lanes, laneOf, hasTurn, letGo, isStopping } = options;
  const arrivals = new Set<Arrival>();

  const begin = (): Arrival => {
    const arrival = { removed: new Set<string>(), recalled: new Set<Lane>() };
    arrivals.add(arrival);
    return arrival;
  };

  /** Deliveries have arrived: they stand in their queues as if they had been there all the time. */
  const arrived = (arrival: Arrival, deliveries: readonly DueDelivery[]): void => {
    arrivals.delete(arrival);
    const lanes = new Set<Lane>();
    for (const delivery of deliveries) {
      const lane = laneOf(delivery.application_id);
      lanes.add(lane);
      lane.queue.push(arrival.removed.has(delivery.subscription_id) ? unwanted(delivery) : delivery);
    }
    for (const lane of lanes) {
      if (arrival.recalled.has(lane) || lane.isHeldUp(now())) letGo(lane);
      hasTurn(lane);
    }
  };

  return {
    reserve() {
      const arrival = begin();
      const takers: Lane[] = [];
      const behind = new Set<Lane>();
      return {
        takes(applicationId) {
          const lane = laneOf(applicationId);
          const isTaken =
            !isStopping() &&
            lane.isUpToDate(now()) &&
            lane.queue.length + lane.arriving < maxQueuedPerEndpoint &&
            room.reserve();
          if (isTaken) {
            lane.arriving++;
            takers.push(lane);
          } else {
            lane.isBehind = true;
            behind.add(lane);
          }
          return isTaken;
        },
        end(taken) {
          room.use(takers.length, taken.length);
          for (const lane of takers) lane.arriving--;
          arrived(arrival, taken);
          // A claim that was under way may have looked before the commit.
          for (const lane of behind) {
            lane.isBehind = true;
            hasTurn(lane);
          }
        },
      };
    },
    async claim(lane) {
      const id = lane.applicationId;
      const arrival = begin();
      lane.isClaiming = true;
      try {
        // Before the claim, because what is set while it is under way must not be forgotten.
        lane.isBehind = false;
        lane.retryAt = null;
        const { due, isBehind, retryAt } = await store.deliveries.claim(id, now(), lane.claimSize);
        if (isStopping()) return await store.deliveries.giveBack(due.map(({ seq }) => seq));
        lane.isBehind ||= isBehind;
        if (retryAt !== null) lane.retryBy(retryAt);
        room.claimed(due.length);
        arrived(arrival, due);
      } catch (error) {
        log.error("claim_failed", { application_id: id, ...errorFields(error) });
        lane.isBehind = true;
        await Bun.sleep(claimAgainAfterMs);
      } finally {
        arrivals.delete(arrival);
      }
      lane.isClaiming = false;
      hasTurn(lane);
    },
    removed({ application_id, ids }) {
      if (ids.length === 0) return;
      for (const { removed } of arrivals) for (const id of ids) removed.add(id);
      const gone = new Set(ids);
      const queue = lanes.get(application_id)?.queue;
      if (queue?.length) queue.change((one) => (gone.has(one.subscription_id) ? unwanted(one) : one));
    },
    recall(lane) {
      for (const { recalled } of arrivals) recalled.add(lane);
      letGo(lane);
    },
  };
}

const unwanted = (delivery: DueDelivery): DueDelivery => ({ ...delivery, isWanted: false });
