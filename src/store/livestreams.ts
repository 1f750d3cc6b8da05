import type { Livestream, NewLivestream } from "../domain/livestreams.ts";
import type { BatchMode, BatchResult } from "./batch.ts";

/** The live channels, each with its category. */
export interface LivestreamStore {
  /** `now` is the `started_at` of a new livestream that has none. With `only`, every other livestream ends. */
  upsert(
    livestreams: readonly NewLivestream[],
    now: string,
    mode?: BatchMode & { readonly only?: boolean },
  ): Promise<BatchResult>;
  /** The next livestreams by ascending id of the channel, starting after `after`. */
  page(after: number, limit: number): Promise<Livestream[]>;
  /** Ends the livestreams of these channels. Ignores channels that are not live. */
  end(channelIds: readonly number[]): Promise<void>;
  all(): Promise<Livestream[]>;
  /** The livestreams of those channels that are live. */
  byChannels(channelIds: readonly number[]): Promise<Livestream[]>;
}
