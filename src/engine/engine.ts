import type { DataPlace } from "../data/place.ts";
import type { EventSink, Retention } from "../domain/deliveries.ts";
import type { Histogram } from "../domain/operations/histogram.ts";
import type { ServerNotice, ServerNoticeData } from "../domain/operations/notices.ts";
import type { Changed, OutcomeBatch, WatchedOutcomes } from "../domain/operations/outcomes.ts";
import type { CheckStorage } from "../store/faults.ts";
import type { ReplicaNews, SentNews } from "../store/replicas/news.ts";
import type { Store } from "../store/store.ts";
import type { Collector } from "../tracing/collector.ts";
import type { SpanCounts } from "../tracing/span-counts.ts";
import type { DispatcherStats } from "../webhooks/dispatcher.ts";
import type { Sample, SampleExchange, WatchSample } from "../webhooks/sample.ts";

/** What the engine needs of the settings. */
export interface EngineSettings {
  readonly place: DataPlace;
  readonly allowPrivateWebhooks: boolean;
  /** The URL of the egress proxy; null: none. */
  readonly webhookProxy: string | null;
  /** Deliveries that may be under way to an endpoint at once, unless its application sets it. */
  readonly webhookConcurrency: number;
  /** Connections that deliveries may have in all. */
  readonly webhookConnections: number;
  readonly retention: Retention;
  /** How much the data may take; null: no limit. */
  readonly maxDataBytes: number | null;
  /** How long the audit trail is kept. */
  readonly auditMs: number;
  /** Where notices are sent to; null: nowhere. */
  readonly notifyUrl: string | null;
  /** The `whsec_…` that signs notices; null: only the platform's key does. */
  readonly notifySecret: string | null;
  /** Where spans go; null: nothing is traced. */
  readonly tracing: Collector | null;
  /** Whether a start holds deliveries until they are released. */
  readonly holdDeliveries?: boolean | undefined;
  /** The time allowed for an attempt, instead of the sender's own. */
  readonly attemptTimeoutMs?: number | undefined;
  /** How long results are gathered before they are recorded, instead of the recorder's own times. */
  readonly gatherMs?: number | undefined;
}

/** Everything that writes and delivers: the store, the dispatcher, retention. */
export interface Engine extends EventSink {
  /** Settles when it writes and delivers, or could not be started. Calls before that wait. */
  readonly started: Promise<void>;
  readonly store: Store;
  /** Sends to a disabled or failing endpoint again. */
  enable(applicationId: string): Promise<void>;
  /** Sends a sample to the webhook of an application; rejects with `conflict` where there is none. */
  test(applicationId: string, sample: Sample, watch?: WatchSample): Promise<SampleExchange>;
  /** Keeps a notice about the server and sends it to the operator. Never rejects. */
  notify(type: ServerNotice, data: ServerNoticeData): Promise<void>;
  stats(): Promise<EngineStats>;
  readonly checkStorage: CheckStorage;
  /** From now on this one is called. */
  listen(listener: EngineListener): void;
  /** Says whose outcomes the listener gets from now on; by default none. Never rejects. */
  watchOutcomes(watched: WatchedOutcomes): Promise<void>;
  /** Sends a message to all other replicas soon. */
  broadcast(news: SentNews): void;
  /** Lets attempts under way finish for up to `graceMs`, then closes everything. */
  stop(graceMs: number): Promise<void>;
}

export interface EngineStats extends DispatcherStats {
  /** Whether nothing is sent until it is released. */
  readonly isHeld: boolean;
  /** Of the engine's thread, in seconds. */
  readonly eventLoopDelay: Histogram;
  readonly spans: SpanCounts;
}

/** What the engine tells of by itself. */
export interface EngineListener {
  /** These applications have something new on their event stream. */
  streamed(applicationIds: readonly string[]): void;
  /** Outcomes of deliveries, and what has changed: some times a second while they are watched. */
  outcomes(batches: readonly OutcomeBatch[], changed: readonly Changed[]): void;
  /** What other replicas did; once `missed` as soon as news are heard. */
  news(news: ReplicaNews): void;
}
