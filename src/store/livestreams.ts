import type { Livestream, NewLivestream, SnapshotEnding } from "../domain/livestreams.ts";
import type { BatchMode, BatchResult } from "./batch.ts";

/** The live channels, each with its category. */
export interface LivestreamStore {
  /** `now` is the `started_at` of a new livestream that has none. */
  upsert(livestreams: readonly NewLivestream[], now: string, mode?: BatchMode): Promise<BatchResult>;
  /**
   * Stores all of these livestreams and ends every other, or changes nothing: throws `BatchRefused`, or
   * `confirmation_required` (see `endedBySnapshot`). Returns the ended channels.
   */
  replaceAll(
    livestreams: readonly NewLivestream[],
    now: string,
    confirmAbovePercent: number,
  ): Promise<readonly number[]>;
  /**
   * Ends every livestream of a channel that is not in `named`, or none: see `endedBySnapshot`. Returns the ended
   * channels.
   */
  endOthers(named: readonly number[], ending: SnapshotEnding): Promise<readonly number[]>;
  /** The next livestreams by ascending id of the channel, starting after `after`. */
  page(after: number, limit: number): Promise<Livestream[]>;
  /** Ends the livestreams of these channels. Ignores channels that are not live. */
  end(channelIds: readonly number[]): Promise<void>;
  all(): Promise<Livestream[]>;
  /** The livestreams of those channels that are live. */
  byChannels(channelIds: readonly number[]): Promise<Livestream[]>;
}
