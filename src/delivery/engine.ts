import type { EventSink } from "../domain/deliveries.ts";
import type { ServerNotice, ServerNoticeData } from "../domain/notices.ts";
import type { Changed, OutcomeBatch, WatchedOutcomes } from "../domain/outcomes.ts";
import type { Broadcast, ReplicaNotification, Shares } from "../domain/replicas.ts";
import type { Histogram } from "../domain/statistics.ts";
import type { CheckStorage, Store } from "../domain/store.ts";
import type { Collector, SpanCounts } from "../runtime/tracing/collector.ts";
import type { DataLocation } from "../store/location.ts";
import type { DispatcherStats } from "./dispatcher.ts";
import type { MaintenanceSettings } from "./maintenance.ts";
import type { Sample, SampleExchange, WatchSample } from "./sample.ts";

/** The settings of the engine. */
export interface EngineSettings extends MaintenanceSettings {
  readonly location: DataLocation;
  readonly allowPrivateWebhooks: boolean;
  /** The URL of the egress proxy; null for none. */
  readonly webhookProxy: string | null;
  /** Concurrent attempts per endpoint, unless its application sets another number. */
  readonly webhookConcurrency: number;
  /** Connections for all endpoints together. */
  readonly webhookConnections: number;
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
  /** null without replicas. */
  readonly shares: Shares | null;
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
