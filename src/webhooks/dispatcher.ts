import type { KeyObject } from "node:crypto";
import { type Application, receives, recipientOf, usesOnlyStream } from "../domain/applications.ts";
import { newEndpoint } from "../domain/endpoints.ts";
import { second } from "../domain/time.ts";
import { errorFields, type Log } from "../log.ts";
import type { Store } from "../store/store.ts";
import type { RemovedSubscriptions } from "../store/subscriptions.ts";
import type { Sender } from "./client/sender.ts";
import { ClockWatch } from "./clock-watch.ts";
import { type Counts, newCounts } from "./counts.ts";
import { createCourier } from "./courier.ts";
import { createIntake, type Reservation } from "./intake.ts";
import { Lane } from "./lane.ts";
import { createRecorder } from "./recorder.ts";
import { Room } from "./room.ts";
import { Turns } from "./turns.ts";

export interface DispatcherOptions {
  readonly store: Pick<Store, "applications" | "deliveries" | "endpoints">;
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

export interface Dispatcher {
  /** Takes up what is pending in the store, and works until the signal; then no attempt is under way any more. */
  run(signal: AbortSignal): Promise<void>;
  reserve(): Reservation;
  /** Deliveries of this application may be due now. */
  wake(applicationId: string): void;
  /** Somebody asks for a delivery of this application now: an endpoint that is held up is probed. */
  hurry(applicationId: string): void;
  /** The application is this now, or gone: what starts from now on goes by its new state. */
  applicationChanged(applicationId: string, application: Application | null): void;
  /** Subscriptions of an application were removed: nothing more is sent for them. */
  subscriptionsRemoved(removed: RemovedSubscriptions): void;
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

/** With so many results not on disk nothing new is started: the disk is full or slow. */
const maxUnrecorded = 4_096;
/** Endpoints that are remembered although they have nothing to do. */
const maxLanes = 20_000;
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
    if (lane.needsClaim(at) && room.canClaim(lane)) void intake.claim(lane);
    if (lane.isClaiming && lane.queue.length === 0) return false;
    // An endpoint may have half of what is left for others, so that slow ones do not take all connections.
    const isCrowded = lane.pace.inFlight > 0 && lane.inFlight * 2 >= connections - courier.inFlight;
    if (isCrowded || !lane.mayStart(at)) {
      sleep(lane, at);
      return false;
    }
    const delivery = lane.queue.shift();
    if (!delivery) {
      sleep(lane, at);
      const isKept = lanes.size <= maxLanes || !lane.isIdle;
      if (!isKept && lanes.get(lane.applicationId) === lane) lanes.delete(lane.applicationId);
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
  const intake = createIntake({
    store,
    log,
    now,
    room,
    lanes,
    laneOf,
    hasTurn: (lane) => turns.add(lane),
    letGo: courier.letGo,
    isStopping,
  });

  /** Has a lane looked at again when something will be due. */
  const sleep = (lane: Lane, at: number): void => {
    const wakeAt = lane.wakeAt();
    if (wakeAt === null) lane.setTimer(null);
    else lane.setTimer(() => turns.add(lane), wakeAt - at);
  };

  const lookUp = async (lane: Lane): Promise<void> => {
    const id = lane.applicationId;
    const { changes } = lane;
    lane.isLookingUp = true;
    try {
      const application = await store.applications.find(id);
      const endpoint = await store.endpoints.find(id);
      // Where it has changed meanwhile, it is looked up once more.
      if (lane.changes === changes) {
        if (application) lane.begin(application.endpoint_generation, now());
        lane.endpoint ??= endpoint ?? newEndpoint(id, lane.generation ?? 0);
        lane.reach(application && recipientOf(application));
      }
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
      for (const endpoint of await store.endpoints.failing()) {
        const lane = laneOf(endpoint.application_id);
        lane.begin(endpoint.generation, now());
        lane.endpoint ??= endpoint;
      }
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
    reserve: () => intake.reserve(),
    wake(applicationId) {
      const lane = laneOf(applicationId);
      lane.retryBy(now());
      turns.add(lane);
    },
    hurry(applicationId) {
      laneOf(applicationId).pace.resume();
      this.wake(applicationId);
    },
    applicationChanged(applicationId, application) {
      const lane = lanes.get(applicationId);
      if (!lane) return;
      lane.forget();
      if (application && lane.begin(application.endpoint_generation, now())) {
        log.info("endpoint.enabled", { application_id: applicationId });
      }
      // What was pending has ended in the store, also where the next change follows at once.
      if (application && (!receives(application) || usesOnlyStream(application))) intake.recall(lane);
      turns.add(lane);
    },
    subscriptionsRemoved: (removed) => intake.removed(removed),
    async enable(applicationId) {
      const generation = await store.endpoints.enable(applicationId, now());
      if (generation === null) return;
      const lane = laneOf(applicationId);
      lane.forget();
      lane.begin(generation, now());
      // Also where nothing was known of it: its retries are due.
      lane.retryBy(now());
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
