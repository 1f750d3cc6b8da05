import type { KeyObject } from "node:crypto";
import type { Ownership } from "../domain/replicas.ts";
import type { Store } from "../domain/store.ts";
import type { Log } from "../runtime/log.ts";
import type { Timers } from "../runtime/timers.ts";
import type { AttemptTraces } from "../runtime/tracing/attempts.ts";
import type { MemoryCapacity } from "./capacity.ts";
import type { EndedDelivery } from "./counts.ts";
import type { EndpointQueue, EndpointQueues } from "./endpoint.ts";
import type { Notices } from "./notices.ts";
import type { Alarms, Scheduler } from "./queue.ts";
import type { Recorder } from "./record.ts";
import type { Sender } from "./send/send.ts";

export interface DispatcherOptions {
  readonly store: Pick<Store, "applications" | "deliveries" | "endpoints" | "subscriptions">;
  /** Which endpoints this process delivers to. */
  readonly ownership: Ownership;
  readonly sender: Pick<Sender, "send">;
  readonly signingKey: KeyObject;
  readonly log: Log;
  readonly now: () => number;
  /** A clock that is never set; it shows when the other one was. */
  readonly monotonic: () => number;
  /** By default the system's. */
  readonly timers?: Timers | undefined;
  /** Returns a number from 0 to 1, for the jitter of retries. */
  readonly random: () => number;
  /** Concurrent attempts per endpoint, unless its application sets another number. */
  readonly concurrency: number;
  /** Connections for all endpoints together. */
  readonly connections: number;
  /** Whether sending is suspended; the owner of the flag calls `resume` when that ends. */
  readonly isHeld: () => boolean;
  /** Makes the notices about endpoints. */
  readonly notices: Notices;
  /** Traces attempts; null while tracing is off. */
  readonly traces: AttemptTraces | null;
  /** Called when a user requested deliveries (a retry or replay) from another process for an endpoint of this one. */
  readonly requested: () => void;
  /** Called with the application when the result of a requested delivery is on disk. */
  readonly requestRecorded: (applicationId: string) => void;
  /** Called with the outcome of each attempt, and of each delivery that ends without one. */
  readonly ended: (outcome: EndedDelivery) => void;
  /** Called with the applications whose endpoints have new notices. */
  readonly noticed: (applicationIds: readonly string[]) => void;
  /** How long results are gathered before they are recorded; by default the recorder's own times. */
  readonly gatherMs?: number | undefined;
}

/** Dependencies and state that the parts of the dispatcher share. */
export interface DispatcherContext extends Pick<DispatcherOptions, "store" | "ownership" | "log" | "now"> {
  readonly queues: EndpointQueues;
  readonly capacity: MemoryCapacity<EndpointQueue>;
  readonly scheduler: Scheduler<EndpointQueue>;
  readonly alarms: Alarms<EndpointQueue>;
  readonly recorder: Recorder;
  readonly timers: Timers;
}
