import type { DataLocation } from "../data/location.ts";
import type { EventSink, Retention } from "../domain/deliveries.ts";
import type { Histogram } from "../domain/operations/histogram.ts";
import type { ServerNotice, ServerNoticeData } from "../domain/operations/notices.ts";
import type { Changed, OutcomeBatch, WatchedOutcomes } from "../domain/operations/outcomes.ts";
import type { CheckStorage } from "../store/faults.ts";
import type { Broadcast, ReplicaNotification } from "../store/replicas/notifications.ts";
import type { Store } from "../store/store.ts";
import type { Collector } from "../tracing/collector.ts";
import type { SpanCounts } from "../tracing/span-counts.ts";
import type { DispatcherStats } from "../webhooks/dispatcher.ts";
import type { Sample, SampleExchange, WatchSample } from "../webhooks/sample.ts";

/** The settings of the engine. */
export interface EngineSettings {
  readonly location: DataLocation;
  readonly allowPrivateWebhooks: boolean;
  /** The URL of the egress proxy; null for none. */
  readonly webhookProxy: string | null;
  /** Concurrent attempts per endpoint, unless its application sets another number. */
  readonly webhookConcurrency: number;
  /** Connections for all endpoints together. */
  readonly webhookConnections: number;
  readonly retention: Retention;
  /** The maximum size of the data; null for no limit. */
  readonly maxDataBytes: number | null;
  /** How long the audit log is kept. */
  readonly auditMs: number;
  /** The URL that notices are sent to; null for none. */
  readonly notifyUrl: string | null;
  /** The `whsec_…` that signs notices; null if only the platform's key does. */
  readonly notifySecret: string | null;
  /** The collector of spans; null if tracing is off. */
  readonly tracing: Collector | null;
  /** Whether a start holds deliveries until they are released. */
  readonly holdDeliveries?: boolean | undefined;
  /** The time limit of an attempt; by default the sender's own. */
  readonly attemptTimeoutMs?: number | undefined;
  /** How long results are gathered before they are recorded; by default the recorder's own times. */
  readonly gatherMs?: number | undefined;
}

/** The part of the server that writes and delivers: the store, the dispatcher, retention. */
export interface Engine extends EventSink {
  /** Resolves when the engine has started; rejects if that failed. Earlier calls wait for it. */
  readonly started: Promise<void>;
  readonly store: Store;
  /** Enables a disabled or failing endpoint. */
  enable(applicationId: string): Promise<void>;
  /** Sends a sample to the webhook of an application; rejects with `conflict` if it has none. */
  test(applicationId: string, sample: Sample, watch?: WatchSample): Promise<SampleExchange>;
  /** Stores a notice about the server and sends it to the operator. Never rejects. */
  notify(type: ServerNotice, data: ServerNoticeData): Promise<void>;
  stats(): Promise<EngineStats>;
  readonly checkStorage: CheckStorage;
  /** Sets the listener. */
  listen(listener: EngineListener): void;
  /** Sets which outcomes the listener gets; by default none. Never rejects. */
  watchOutcomes(watched: WatchedOutcomes): Promise<void>;
  /** Sends a message to all other replicas, with a short delay. */
  broadcast(notification: Broadcast): void;
  /** Lets attempts in progress finish for up to `graceMs`, then closes everything. */
  stop(graceMs: number): Promise<void>;
}

export interface EngineStats extends DispatcherStats {
  /** Whether deliveries are held until they are released. */
  readonly isHeld: boolean;
  /** The event-loop delay of the engine's thread, in seconds. */
  readonly eventLoopDelay: Histogram;
  readonly spans: SpanCounts;
}

/** The receiver of the engine's reports. */
export interface EngineListener {
  /** Called with applications that have new events on their event stream. */
  streamed(applicationIds: readonly string[]): void;
  /** Called some times a second, while they are watched, with outcomes of deliveries and with changes. */
  outcomes(batches: readonly OutcomeBatch[], changed: readonly Changed[]): void;
  /** Called with notifications of other replicas; with `missed` when earlier ones may have been lost. */
  replicaNotification(notification: ReplicaNotification): void;
}
