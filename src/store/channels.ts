import type { Channel } from "../domain/livestreams.ts";
import type { BatchMode, BatchResult } from "./batch.ts";

/** Channels. Each belongs to a user. */
export interface ChannelStore {
  upsert(channels: readonly Channel[], mode?: BatchMode): Promise<BatchResult>;
  /** The next channels by ascending id, starting after `after`, as the platform reported them. */
  page(after: number, limit: number): Promise<Channel[]>;
  /** Removes a channel and ends its livestream. Ignores an unknown id. */
  remove(id: number): Promise<void>;
  /** A channel without a picture gets that of its user. */
  byIds(ids: readonly number[]): Promise<Channel[]>;
}
