/**
 * Snapshots of the order of categories, so that a cursor can continue at another replica. A data directory stores none.
 */
export interface OrderStore {
  /** Stores the snapshot taken at `takenAt`, or extends the life of a known one. */
  keep(takenAt: number, content: Uint8Array, now: number): Promise<void>;
  find(takenAt: number): Promise<Uint8Array | null>;
  /** Removes snapshots last kept before a time. Resolves to true when none of them is left. */
  prune(before: number): Promise<boolean>;
}

/** Stores nothing: a process that is alone has its snapshots in memory. */
export const noOrders: OrderStore = {
  async keep() {},
  find: async () => null,
  prune: async () => true,
};
