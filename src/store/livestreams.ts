import type { Livestream, NewLivestream } from "../domain/livestreams.ts";
import type { BatchMode, BatchResult } from "./batch.ts";

/** Which channels are live, and in which category. */
export interface LivestreamStore {
  /** `now` is the `started_at` of a new one that comes without. With `only`, every other livestream ends. */
  upsert(
    livestreams: readonly NewLivestream[],
    now: string,
    mode?: BatchMode & { readonly only?: boolean },
  ): Promise<BatchResult>;
  /** By ascending channel, those behind `after`. */
  page(after: number, limit: number): Promise<Livestream[]>;
  /** Ends these, whether they are live or not. */
  end(channelIds: readonly number[]): Promise<void>;
  all(): Promise<Livestream[]>;
  /** Those of these channels that are live. */
  byChannels(channelIds: readonly number[]): Promise<Livestream[]>;
}
