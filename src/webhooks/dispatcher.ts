import type { KeyObject } from "node:crypto";
import { recipientOf } from "../domain/applications.ts";
import type { DueDelivery } from "../domain/deliveries.ts";
import { enabledAgain, newEndpoint } from "../domain/endpoints.ts";
import { second } from "../domain/time.ts";
import { errorFields, type Log } from "../log.ts";
import type { Store } from "../store/store.ts";
import { ClockWatch } from "./clock-watch.ts";
import { type Counts, newCounts } from "./counts.ts";
import { createCourier } from "./courier.ts";
import { Lane } from "./lane.ts";
import { createRecorder } from "./recorder.ts";
import { Room } from "./room.ts";
import type { Sender } from "./sender.ts";
import { Turns } from "./turns.ts";

export interface DispatcherOptions {
  readonly store: Pick<Store, "applications" | "deliveries" | "endpoints" | "subscriptions">;
  readonly sender: Pick<Sender, "begin">;
  readonly signingKey: KeyObject;
  readonly log: Log;
  readonly now: () => number;
  /** A clock that nobody sets, to notice when the other one is. */
  readonly steady: () => number;
  /** From 0 to 1, for the jitter of retries. */
  readonly random: () => number;
  /** How many attempts may run at once for an endpoint, unless its application says so. */
  readonly concurrency?: number;
  /** How many connections there may be for all of them. */
  readonly connections?: number;
}

/** Room for the deliveries of one event that is being published. */
export interface Reservation {
  /** Whether the dispatcher takes a delivery for this application at once; else it is left in the store. */
  takes(applicationId: string): boolean;
  /** Ends the reservation: these were taken and are on disk. To be called in any case. */
  end(taken: readonly DueDelivery[]): void;
}

export interface Dispatcher {
  /** Takes up what is pending in the store, and works until the signal; then no attempt is under way any more. */
  run(signal: AbortSignal): Promise<void>;
  reserve(): Reservation;
  /** Deliveries of this application may be due now. */
  wake(applicationId: string): void;
  /** Somebody asks for a delivery of this application now: an endpoint that is held up is probed. */
  hurry(applicationId: string): void;
  /** The application was changed or removed: what starts from now on goes by its new state. */
  applicationChanged(applicationId: string): void;
  /** Subscriptions were removed: what resolves behind this promise sends nothing more for them. */
  subscriptionsRemoved(): Promise<void>;
  /** Sends to a disabled or failing endpoint again, slowly at first. */
  enable(applicationId: string): Promise<void>;
  readonly standing: Standing;
}

/** What the dispatcher is doing now. */
export interface Standing {
  readonly inFlight: number;
  /** Deliveries in memory that have not started. */
  readonly queued: number;
  readonly unrecorded: number;
  /** Endpoints that hold up what is sent to them, because they fail or asked for it. */
  readonly heldUp: number;
  readonly counts: Counts;
}

/** Deliveries of one endpoint in memory that have not started. */
const maxQueuedPerEndpoint = 256;
/** With so many results not on disk nothing new is started: the disk is full or slow. */
const maxUnrecorded = 4_096;
/** Endpoints that are remembered although they have nothing to do. */
const maxLanes = 20_000;
const claimAgainAfterMs = second;
const lookUpAgainAfterMs = second;

/**
 * Sends what is due: what was just published comes from memory, everything else is claimed from the store. Signs,
 * sends, decides, and records in batches. It keeps nothing that matters: what it has not recorded when the process
 * ends is pending still, and is sent again under the same id.
 */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { store, log, now, steady, concurrency = 128, connections = 1_024 } = options;
  const lanes = new Map<string, Lane>();
  const counts = newCounts();
  const clock = new ClockWatch(now, steady);
  const recorder = createRecorder(store, log, () => turns.resume());
  let stopping: AbortSignal | null = null;

  const isStopping = () => stopping === null || stopping.aborted;

  const laneOf = (applicationId: string): Lane => {
    let lane = lanes.get(applicationId);
    if (!lane) {
      lane = new Lane(applicationId, concurrency);
      lanes.set(applicationId, lane);
    }
    return lane;
  };

  /** Starts one attempt of a lane; false when it has nothing more to do for now. */
  const step = (lane: Lane): boolean => {
    checkClock();
    const at = now();
    if (lane.recipient === undefined) {
      if (!lane.isLookingUp) void lookUp(lane);
      return false;
    }
    if (lane.needsClaim(at) && room.canClaim(lane)) void claim(lane);
    if (lane.isClaiming && lane.queue.length === 0) return false;
    // An endpoint may have half of what is left for others, so that slow ones do not take all connections.
    const isCrowded = lane.pace.inFlight > 0 && lane.pace.inFlight * 2 >= connections - courier.inFlight;
    if (isCrowded || !lane.mayStart(at)) {
      sleep(lane, at);
      return false;
    }
    const delivery = lane.queue.shift();
    if (!delivery) {
      sleep(lane, at);
      if (lanes.size > maxLanes && lane.isIdle) lanes.delete(lane.applicationId);
      return false;
    }
    room.left(1);
    courier.start(lane, delivery, at);
    return true;
  };
  const turns = new Turns<Lane>({
    step,
    isNew: (lane) => !lane.isBehind && lane.queue.firsts > 0,
    mayRun(isNew) {
      if (isStopping() || recorder.unrecorded >= maxUnrecorded) return false;
      // Half is for what is new: ten thousand retries that wait for slow endpoints do not hold it up.
      return courier.inFlight < (isNew ? connections : connections / 2);
    },
  });
  const room = new Room<Lane>((lane) => turns.add(lane));
  const courier = createCourier({
    ...options,
    recorder,
    counts,
    checkClock: () => checkClock(),
    hasTurn: (lane) => turns.add(lane),
    left: (count) => room.left(count),
  });

  /** Has a lane looked at again when something will be due. */
  const sleep = (lane: Lane, at: number): void => {
    const wakeAt = lane.wakeAt();
    if (wakeAt === null) lane.setTimer(null);
    else lane.setTimer(() => turns.add(lane), wakeAt - at);
  };

  const claim = async (lane: Lane): Promise<void> => {
    const id = lane.applicationId;
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
      for (const delivery of due) lane.queue.push(delivery);
    } catch (error) {
      log.error("claim_failed", { application_id: id, ...errorFields(error) });
      lane.isBehind = true;
      await Bun.sleep(claimAgainAfterMs);
    }
    lane.isClaiming = false;
    turns.add(lane);
  };

  const lookUp = async (lane: Lane): Promise<void> => {
    const id = lane.applicationId;
    const { changes } = lane;
    lane.isLookingUp = true;
    try {
      const application = await store.applications.find(id);
      lane.endpoint ??= (await store.endpoints.find(id)) ?? newEndpoint(id);
      if (lane.changes === changes) lane.reach(application && recipientOf(application));
      turns.add(lane);
    } catch (error) {
      log.error("look_up_failed", { application_id: id, ...errorFields(error) });
      lane.setTimer(() => turns.add(lane), lookUpAgainAfterMs);
    } finally {
      lane.isLookingUp = false;
    }
  };

  /** What an endpoint did is measured in time that has passed, not in what a clock was set to. */
  const checkClock = (): void => {
    const ms = clock.jump();
    if (ms === 0) return;
    log.warn("clock_jumped", { by_ms: Math.round(ms) });
    for (const lane of lanes.values()) {
      lane.shift(ms);
      if (lane.endpoint?.failing_since) recorder.addEndpoint(lane.endpoint);
      turns.add(lane);
    }
  };

  return {
    async run(signal) {
      await store.deliveries.takeUp();
      for (const endpoint of await store.endpoints.failing())
        laneOf(endpoint.application_id).endpoint = endpoint;
      stopping = signal;
      for (const { application_id, due_at } of await store.deliveries.pending()) {
        const lane = laneOf(application_id);
        if (due_at === 0) lane.isBehind = true;
        lane.retryBy(due_at);
        turns.add(lane);
      }
      await new Promise((resolve) => {
        if (signal.aborted) resolve(null);
        else signal.addEventListener("abort", resolve, { once: true });
      });
      for (const lane of lanes.values()) lane.setTimer(null);
      await courier.idle();
      recorder.giveUp();
      await recorder.settled();
      lanes.clear();
    },
    reserve() {
      let mine = 0;
      return {
        takes(applicationId) {
          const lane = laneOf(applicationId);
          const isTaken =
            !isStopping() &&
            lane.isUpToDate(now()) &&
            lane.queue.length < maxQueuedPerEndpoint &&
            room.reserve();
          if (isTaken) mine++;
          else {
            lane.isBehind = true;
            turns.add(lane);
          }
          return isTaken;
        },
        end(taken) {
          room.use(mine, taken.length);
          for (const delivery of taken) {
            const lane = laneOf(delivery.application_id);
            lane.queue.push(delivery);
            turns.add(lane);
          }
        },
      };
    },
    wake(applicationId) {
      const lane = laneOf(applicationId);
      lane.retryBy(now());
      turns.add(lane);
    },
    hurry(applicationId) {
      laneOf(applicationId).pace.resume();
      this.wake(applicationId);
    },
    applicationChanged(applicationId) {
      const lane = lanes.get(applicationId);
      if (!lane) return;
      lane.changes++;
      lane.recipient = undefined;
      turns.add(lane);
    },
    async subscriptionsRemoved() {
      const waiting = [...lanes.values()].flatMap((lane) => lane.queue.items());
      const ids = [...new Set(waiting.map(({ subscription_id }) => subscription_id))];
      const there = await store.subscriptions.existing(ids);
      for (const { queue } of lanes.values()) {
        if (queue.length === 0) continue;
        queue.change((one) => (there.has(one.subscription_id) ? one : { ...one, isWanted: false }));
      }
    },
    async enable(applicationId) {
      const lane = laneOf(applicationId);
      const endpoint = enabledAgain(
        lane.endpoint ?? (await store.endpoints.find(applicationId)) ?? newEndpoint(applicationId),
      );
      await store.endpoints.put(endpoint);
      await store.deliveries.hurry(applicationId, now());
      lane.restart(endpoint, now());
      log.info("endpoint.enabled", { application_id: applicationId });
      turns.add(lane);
    },
    get standing() {
      const at = now();
      const heldUp = [...lanes.values()].filter((lane) => lane.isDisabled || lane.pace.resumeAt > at).length;
      const { inFlight } = courier;
      return { inFlight, queued: room.queued, unrecorded: recorder.unrecorded, heldUp, counts };
    },
  };
}
