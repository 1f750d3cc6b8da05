import type { Channel } from "../domain/livestreams.ts";
import type { BatchMode, BatchResult } from "./batch.ts";

/** Channels, each of which belongs to a user. */
export interface ChannelStore {
  upsert(channels: readonly Channel[], mode?: BatchMode): Promise<BatchResult>;
  /** By ascending id, those behind `after`, as the platform reported them. */
  page(after: number, limit: number): Promise<Channel[]>;
  /** Its livestream ends. Unknown ids change nothing. */
  remove(id: number): Promise<void>;
  /** Their picture falls back on their user's. */
  byIds(ids: readonly number[]): Promise<Channel[]>;
}
