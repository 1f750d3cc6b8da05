import type { DueDelivery } from "../../domain/deliveries.ts";
import { returned } from "../judge.ts";
import type { Recorder } from "../recorder.ts";
import type { EndpointQueue } from "./endpoint-queue.ts";
import type { MemoryCapacity } from "./memory-capacity.ts";
import type { Scheduler } from "./scheduler.ts";

/** Writes the deliveries that a queue has in memory back into the store, which frees their capacity. */
export type Unload = (queue: EndpointQueue) => void;

export function createUnload(options: {
  readonly capacity: MemoryCapacity<EndpointQueue>;
  readonly recorder: Recorder;
  readonly scheduler: Scheduler<EndpointQueue>;
  readonly now: () => number;
}): Unload {
  const { capacity, recorder, scheduler, now } = options;

  const writeBack = async (queue: EndpointQueue, delivery: DueDelivery, at: number): Promise<void> => {
    const isFirst = delivery.attempts === 0;
    queue.unrecorded++;
    if (isFirst) queue.returning++;
    // Recorded, because a delivery that came from publishing was never claimed and has no time in the store.
    await recorder.add(returned(delivery, at, queue.generation ?? 0));
    queue.unrecorded--;
    if (isFirst) {
      queue.returning--;
      queue.hasBacklog = true;
    } else queue.retryBy(at);
    scheduler.add(queue);
  };

  return (queue) => {
    const deliveries = queue.deliveries.clear();
    capacity.free(deliveries.length);
    const at = now();
    for (const delivery of deliveries) void writeBack(queue, delivery, at);
  };
}
