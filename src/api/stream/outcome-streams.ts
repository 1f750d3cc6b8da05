import type { Engine } from "../../delivery/engine.ts";
import { DomainError } from "../../domain/errors.ts";
import {
  applicationTopics,
  type Changed,
  type DeliveryOutcome,
  type OutcomeBatch,
} from "../../domain/outcomes.ts";
import type { ReplicaNotification } from "../../domain/replicas.ts";
import { isoTime, second } from "../../domain/time.ts";
import { EventStream, frame, heartbeat, opening } from "./event-stream.ts";

/** The maximum number of open streams of one application, and of all operators together. */
const mostStreams = { application: 10, operator: 50 } as const;
/** The maximum number of outcomes that wait for a reader. Further outcomes are omitted. */
const mostWaiting = 200;
/** The time between two heartbeats of a stream. */
const heartbeatMs = 15 * second;

interface OutcomeStreamOptions {
  /** null for outcomes of all applications; "" for none. */
  readonly applicationId: string | null;
  /** Further topics whose changes the stream sends, in addition to those of applications; by default none. */
  readonly topics?: "all" | readonly string[];
  /** Resolves to whether the reader may still read; called before each part. */
  isAllowed(): Promise<boolean>;
  /** Closes the connection soon, even if the client does not read. */
  cut(): void;
}

interface OpenStream extends OutcomeStreamOptions {
  readonly events: EventStream<null>;
  readonly waiting: DeliveryOutcome[];
  /** The topics that have changed. */
  readonly changed: Set<string>;
  leftOut: number;
}

const encoder = new TextEncoder();

/** Whether the stream belongs to an operator, who may watch a single application. */
const isOfOperator = ({ applicationId, topics }: OutcomeStreamOptions) =>
  applicationId === null || topics === "all";

type WatchedEngine = Pick<Engine, "watchOutcomes" | "broadcast">;
type ChangedBroadcast = Extract<ReplicaNotification, { kind: "changed" }>;

const deliveries = "deliveries";
/** Topics whose messages name the applications. */
const ofApplications: ReadonlySet<string> = new Set(applicationTopics);
/** The least time between two messages to other replicas. */
const notifyEveryMs = second;
/** The maximum number of applications in a message to other replicas; beyond it the message concerns all. */
const mostApplications = 100;

/**
 * Open streams of the outcomes of deliveries and of other changes, for live views. They are samples when there are more
 * outcomes than a person can read. A slow reader misses outcomes, and its stream states how many. A replica with open
 * streams is notified when something changes on another replica, and reads the change from the store.
 */
export class OutcomeStreams {
  readonly #engine: WatchedEngine;
  readonly #open = new Set<OpenStream>();
  readonly #timer: Timer;
  readonly #remindMs: number;
  #isClosed = false;
  /** By `performance.now()`. */
  #watchedByReplicasUntil = Number.NEGATIVE_INFINITY;
  #pending: { readonly topics: Set<string>; applications: Set<string> | null } | null = null;

  /** @param remindMs the time between heartbeats; a reader that takes nothing in that time is cut off */
  constructor(engine: WatchedEngine, remindMs = heartbeatMs) {
    this.#engine = engine;
    this.#remindMs = remindMs;
    this.#timer = setInterval(() => this.#remind(), remindMs);
    this.#timer.unref();
  }

  /** Passes outcomes and changes of this process to the open streams. */
  take(batches: readonly OutcomeBatch[], changed: readonly Changed[]): void {
    this.#hand(batches);
    for (const { topic, applications } of changed) this.changed(topic, applications);
  }

  /**
   * Opens a stream. It reports every change that is not yet visible when this call returns. Throws `rate_limited` if
   * too many streams are open, `unavailable` while the server stops.
   */
  async open(options: OutcomeStreamOptions): Promise<ReadableStream<Uint8Array>> {
    const { applicationId } = options;
    if (this.#isClosed)
      throw new DomainError("unavailable", "The server is stopping", { retryAfterSeconds: 5 });
    const ofOperator = isOfOperator(options);
    const same = [...this.#open].filter(
      (stream) =>
        isOfOperator(stream) === ofOperator && (ofOperator || stream.applicationId === applicationId),
    );
    const most = ofOperator ? mostStreams.operator : mostStreams.application;
    if (same.length >= most) {
      const message = `${most} of these streams are open, which is the maximum; close one first`;
      throw new DomainError("rate_limited", message, { retryAfterSeconds: 5 });
    }
    const events = new EventStream({
      position: null,
      opening: encoder.encode(opening),
      next: async (position, isReminded) => {
        if (!(await options.isAllowed())) return null;
        const text = takenFrom(stream) || (isReminded ? heartbeat : "");
        return { bytes: text === "" ? null : encoder.encode(text), position, isAll: true };
      },
      ended: (reason) => {
        this.#open.delete(stream);
        void this.#watch();
        if (reason === "stalled") options.cut();
      },
    });
    const stream: OpenStream = { ...options, events, waiting: [], changed: new Set(), leftOut: 0 };
    this.#open.add(stream);
    await this.#watch();
    return events.readable;
  }

  /**
   * Sends a change of a topic to the open streams, here and on other replicas.
   *
   * @param applications the applications whose streams get it, in addition to those of operators; null for all
   */
  changed(topic: string, applications: ChangedBroadcast["applications"] = []): void {
    this.changedHere(topic, applications);
    this.#notifyReplicas(topic, applications);
  }

  /** Sends a change of a topic to the open streams of this process. Other replicas detect the change themselves. */
  changedHere(topic: string, applications: ChangedBroadcast["applications"] = []): void {
    this.#note([topic], applications);
  }

  /** Handles a message of another replica. */
  receive(notification: Extract<ReplicaNotification, { kind: "watching" | "changed" }>): void {
    if (notification.kind === "changed") {
      this.#note(notification.topics, notification.applications);
      return;
    }
    // Long enough for one lost message to have no effect.
    this.#watchedByReplicasUntil = performance.now() + 2.5 * this.#remindMs;
    void this.#collect();
  }

  /** Ends all streams and refuses new streams. */
  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    for (const { events } of this.#open) events.end("stopping");
  }

  #hand(batches: readonly OutcomeBatch[]): void {
    for (const { application_id, outcomes, left_out } of batches) {
      for (const stream of this.#open) {
        if (stream.applicationId !== application_id) continue;
        const capacity = mostWaiting - stream.waiting.length;
        stream.waiting.push(...outcomes.slice(0, capacity));
        stream.leftOut += left_out + Math.max(0, outcomes.length - capacity);
        stream.events.wake();
      }
      if (application_id !== null) continue;
      const applications = outcomes.map((outcome) => outcome.application_id);
      this.#notifyReplicas(deliveries, left_out > 0 ? null : applications);
    }
  }

  #note(topics: readonly string[], applications: ChangedBroadcast["applications"]): void {
    for (const stream of this.#open) {
      const { applicationId, topics: subscribed = [] } = stream;
      const isOwn =
        applicationId === null ||
        (applicationId !== "" && (applications === null || applications.includes(applicationId)));
      const matching = topics.filter((topic) =>
        ofApplications.has(topic) ? isOwn : subscribed === "all" || subscribed.includes(topic),
      );
      for (const topic of matching) stream.changed.add(topic);
      if (matching.length > 0) stream.events.wake();
    }
  }

  /** Whether an operator has an open stream here. */
  get hasOperators(): boolean {
    return [...this.#open].some(({ applicationId }) => applicationId === null);
  }

  get #isWatchedByReplicas(): boolean {
    return performance.now() < this.#watchedByReplicasUntil;
  }

  /** Schedules a message to the other replicas if they have open streams. */
  #notifyReplicas(topic: string, applications: ChangedBroadcast["applications"]): void {
    if (!this.#isWatchedByReplicas) return;
    if (this.#pending === null) {
      this.#pending = { topics: new Set(), applications: new Set() };
      setTimeout(() => this.#sendPending(), notifyEveryMs).unref();
    }
    const { topics, applications: known } = this.#pending;
    topics.add(topic);
    if (applications === null) this.#pending.applications = null;
    for (const id of applications ?? []) known?.add(id);
    if (known && known.size > mostApplications) this.#pending.applications = null;
  }

  #sendPending(): void {
    if (this.#pending === null || this.#isClosed) return;
    const { topics, applications } = this.#pending;
    this.#pending = null;
    this.#engine.broadcast({
      kind: "changed",
      topics: [...topics],
      applications: applications && [...applications],
    });
  }

  #remind(): void {
    void this.#watch();
    for (const { events } of this.#open) {
      const quietMs = performance.now() - events.sentAt;
      if (!events.isTaken && quietMs >= this.#remindMs) events.end("stalled");
      else events.remind();
    }
  }

  /** Announces the streams that are open here, so that other replicas send their changes. */
  #watch(): Promise<void> {
    if (this.#open.size > 0) this.#engine.broadcast({ kind: "watching" });
    return this.#collect();
  }

  #collect(): Promise<void> {
    const watched = [...this.#open].map(({ applicationId }) => applicationId);
    const applications = new Set(watched.filter((id) => id !== null));
    const all = watched.includes(null) || this.#isWatchedByReplicas;
    return this.#engine.watchOutcomes({ all, applications: [...applications] });
  }
}

/** Removes the data that waits for the reader of a stream and returns it as text; "" if there is none. */
function takenFrom(stream: OpenStream): string {
  const changed = stream.changed.size > 0 ? frame("changed", [...stream.changed].join(" ")) : "";
  stream.changed.clear();
  if (stream.waiting.length === 0) return changed;
  const outcomes = stream.waiting.splice(0).map((outcome) => ({ ...outcome, at: isoTime(outcome.at) }));
  const data = { outcomes, left_out: stream.leftOut };
  stream.leftOut = 0;
  return changed + frame("outcomes", data);
}
