import { newEventId } from "../support/publishers.ts";
import type { Scene } from "./scene.ts";

const eventsAtOnce = 10;

interface Load {
  readonly broadcaster: number;
  /** Deliveries of each event. */
  readonly each: number;
  /** Approximate number of deliveries that are acknowledged and have not arrived, at any time. */
  readonly pending: number;
}

/** Publishes as fast as deliveries arrive while `watch` runs, which waits by calling `pass`. */
export async function whilePending<T>(
  { receiver, publishers }: Scene,
  { broadcaster, each, pending }: Load,
  watch: (pass: (seconds: number) => Promise<unknown>) => Promise<T>,
): Promise<{ result: T; published: number }> {
  await receiver.report();
  let published = 0;
  let stopped = false;
  const publish = async () => {
    while (!stopped) {
      const arrived = await receiver.arrived();
      while (published - arrived < pending) {
        await publishers.publishAll(broadcaster, Array.from({ length: eventsAtOnce }, newEventId));
        published += eventsAtOnce * each;
      }
      await Bun.sleep(5);
    }
  };
  const publishing = publish();
  // Ends early where publishing fails.
  const result = await watch((seconds) => Promise.race([Bun.sleep(seconds * 1000), publishing]));
  stopped = true;
  await publishing;
  return { result, published };
}
