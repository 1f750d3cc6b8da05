import type { Log } from "../log/log.ts";
import type { Ownership } from "../store/replicas/ownership.ts";
import type { Store } from "../store/store.ts";
import type { EndpointQueue } from "./queues/endpoint-queue.ts";
import type { EndpointQueues } from "./queues/endpoint-queues.ts";
import type { MemoryCapacity } from "./queues/memory-capacity.ts";
import type { Scheduler } from "./queues/scheduler.ts";
import type { Recorder } from "./recorder.ts";

/** Dependencies and state that the parts of the dispatcher share. */
export interface DispatcherContext {
  readonly store: Pick<Store, "applications" | "deliveries" | "endpoints" | "subscriptions">;
  readonly ownership: Ownership;
  readonly queues: EndpointQueues;
  readonly capacity: MemoryCapacity<EndpointQueue>;
  readonly scheduler: Scheduler<EndpointQueue>;
  readonly recorder: Recorder;
  readonly log: Log;
  readonly now: () => number;
}
