import type { KeyObject } from "node:crypto";
import type { Application } from "../domain/applications.ts";
import type { DueDelivery } from "../domain/deliveries.ts";
import { enabledAgain, newEndpoint } from "../domain/endpoints.ts";
import { second } from "../domain/time.ts";
import { errorFields, type Log } from "../log.ts";
import type { Store } from "../store/store.ts";
import { logAttempt, notMade, requestOf, resultOf, unsent } from "./attempt.ts";
import { ClockWatch } from "./clock-watch.ts";
import { type Counts, countNotice, countResult, newCounts } from "./counts.ts";
import { follow } from "./health.ts";
import { Lane } from "./lane.ts";
import { createRecorder } from "./recorder.ts";
import { isOverloaded } from "./retry.ts";
import type { Sender, SendResult } from "./sender.ts";
import { Turns } from "./turns.ts";

export interface DispatcherOptions {
  readonly store: Pick<Store, "applications" | "deliveries" | "endpoints" | "subscriptions">;
  readonly sender: Pick<Sender, "send">;
  readonly signingKey: KeyObject;
  readonly log: Log;
  readonly now: () => number;
  /** A clock that nobody sets, to notice when the other one is. */
  readonly steady: () => number;
  /** From 0 to 1, for the jitter of retries. */
  readonly random: () => number;
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

/** Deliveries in memory that have not started: of one endpoint, and of all. */
const maxQueuedPerEndpoint = 256;
const maxQueued = 16_384;
/** With so many results not on disk nothing new is started: the disk is full or slow. */
const maxUnrecorded = 4_096;
const claimSize = 128;
/** With so many attempts under way an endpoint gets another one only when it has none. */
const crowdedAt = 512;
/** Endpoints that are remembered although they have nothing to do. */
const maxLanes = 20_000;
const claimAgainAfterMs = second;

/**
 * Sends what is due: what was just published comes from memory, everything else is claimed from the store. Signs,
 * sends, decides, and records in batches. It keeps nothing that matters: what it has not recorded when the process
 * ends is pending still, and is sent again under the same id.
 */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { store, sender, signingKey, log, now, steady, random } = options;
  const lanes = new Map<string, Lane>();
  const counts = newCounts();
  const clock = new ClockWatch(now, steady);
  const recorder = createRecorder(store, log, () => turns.resume());
  let stopping: AbortSignal | null = null;
  let reserved = 0;
  let queued = 0;
  let inFlight = 0;
  let idle: (() => void) | null = null;

  const isStopping = () => stopping === null || stopping.aborted;

  const laneOf = (applicationId: string): Lane => {
    let lane = lanes.get(applicationId);
    if (!lane) {
      lane = new Lane(applicationId);
      lanes.set(applicationId, lane);
    }
    return lane;
  };

  /** Starts one attempt of a lane; false when it has nothing more to do for now. */
  const step = (lane: Lane): boolean => {
    checkClock();
    const at = now();
    if (lane.needsClaim(at)) void claim(lane);
    if (lane.isClaiming && (lane.queue.isEmpty || lane.application === undefined)) return false;
    // Beyond that more at once is no faster, but every endpoint may have one, so that slow ones hold up nobody.
    const isCrowded = inFlight >= crowdedAt && lane.pace.inFlight > 0;
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
    queued--;
    start(lane, delivery, at);
    return true;
  };
  const turns = new Turns<Lane>(step, () => !isStopping() && recorder.unrecorded < maxUnrecorded);

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
      if (lane.application === undefined) await lookUp(lane);
      if (lane.isDisabled) return; // its deliveries wait in the store
      // Before the claim, because what is set while it is under way must not be forgotten.
      lane.isBehind = false;
      lane.retryAt = null;
      const { due, isBehind, retryAt } = await store.deliveries.claim(id, now(), claimSize);
      if (isStopping()) return void store.deliveries.giveBack(due.map(({ seq }) => seq));
      lane.isBehind ||= isBehind;
      if (retryAt !== null) lane.retryBy(retryAt);
      queued += due.length;
      lane.queue.push(due);
    } catch (error) {
      log.error("claim_failed", { application_id: id, ...errorFields(error) });
      lane.retryBy(now() + claimAgainAfterMs);
      lane.application = undefined;
      return void setTimeout(() => turns.add(lane), claimAgainAfterMs);
    } finally {
      lane.isClaiming = false;
    }
    turns.add(lane);
  };

  const lookUp = async (lane: Lane): Promise<void> => {
    const id = lane.applicationId;
    const { changes } = lane;
    const application = await store.applications.find(id);
    lane.endpoint ??= (await store.endpoints.find(id)) ?? newEndpoint(id);
    if (lane.changes === changes) lane.application = application;
  };

  const start = (lane: Lane, delivery: DueDelivery, at: number): void => {
    const { application } = lane;
    const isExpired = delivery.expires_at !== null && delivery.expires_at <= at;
    if (!application || !delivery.isWanted || isExpired) {
      const result = unsent(delivery, application && delivery.isWanted ? "expired" : "canceled", at);
      countResult(counts, result);
      recorder.add(result);
      return;
    }
    lane.pace.inFlight++;
    inFlight++;
    void send(delivery, application, at).then((sent) => {
      lane.pace.inFlight--;
      inFlight--;
      if (sent.class !== "canceled") ended(lane, delivery, sent, at);
      if (inFlight === 0 && isStopping()) idle?.();
      turns.add(lane);
    });
  };

  const send = async (delivery: DueDelivery, application: Application, at: number): Promise<SendResult> => {
    try {
      return await sender.send(requestOf(delivery, application, signingKey, at));
    } catch (error) {
      log.error("attempt_failed", { delivery_id: delivery.id, ...errorFields(error) });
      return notMade;
    }
  };

  const ended = (lane: Lane, delivery: DueDelivery, sent: SendResult, startedAt: number): void => {
    checkClock();
    const at = now();
    const chance = random();
    const { result, decision } = resultOf(delivery, sent, { startedAt, at, random: chance });
    logAttempt(log, delivery, sent, decision);
    countResult(counts, result);
    recorder.add(result, () => {
      if (result.next_attempt_at !== null) lane.retryBy(result.next_attempt_at);
      turns.add(lane);
    });
    const isSuccess = sent.class === "ok";
    const isThrottled = isOverloaded(sent.status);
    lane.pace.learn({
      startedAt,
      at,
      isSuccess,
      isThrottled,
      retryAfterMs: sent.retryAfterMs,
      random: chance,
    });
    const notice = follow(lane, sent, at, recorder, log);
    if (notice) countNotice(counts, notice);
    // Memory is for those who can be sent to.
    if (lane.isDisabled || lane.pace.resumeAt > at) letGo(lane);
  };

  /** Puts back into the store what was not started. */
  const letGo = (lane: Lane): void => {
    const rest = lane.queue.clear();
    queued -= rest.length;
    // Recorded and not only given back, because what came from publishing was never to be claimed.
    const at = now();
    for (const { seq, attempts } of rest) {
      const next_attempt_at = attempts === 0 ? 0 : at;
      recorder.add({ seq, at, attempts, attempt: null, status: "pending", next_attempt_at }, () => {
        if (attempts === 0) lane.isBehind = true;
        else lane.retryBy(at);
        turns.add(lane);
      });
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
      if (inFlight > 0) {
        const { promise, resolve } = Promise.withResolvers<void>();
        idle = resolve;
        await promise;
      }
      recorder.giveUp();
      await recorder.settled();
      lanes.clear();
    },
    reserve() {
      let mine = 0;
      return {
        takes(applicationId) {
          const lane = laneOf(applicationId);
          const hasRoom = reserved + queued < maxQueued && lane.queue.length < maxQueuedPerEndpoint;
          if (isStopping() || !hasRoom || !lane.isUpToDate(now())) {
            lane.isBehind = true;
            turns.add(lane);
            return false;
          }
          mine++;
          reserved++;
          return true;
        },
        end(taken) {
          reserved -= mine;
          queued += taken.length;
          for (const delivery of taken) {
            const lane = laneOf(delivery.application_id);
            lane.queue.push([delivery]);
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
      lane.application = undefined;
      turns.add(lane);
    },
    async subscriptionsRemoved() {
      const waiting = [...lanes.values()].flatMap((lane) => lane.queue.items());
      const ids = [...new Set(waiting.map(({ subscription_id }) => subscription_id))];
      const there = await store.subscriptions.existing(ids);
      for (const lane of lanes.values()) lane.queue.unwant((id) => !there.has(id));
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
      return { inFlight, queued, unrecorded: recorder.unrecorded, heldUp, counts };
    },
  };
}
