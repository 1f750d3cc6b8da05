/** Orders of the categories, for walks that go on at another replica. With a data directory there are none. */
export interface OrderStore {
  /** Keeps the order of that moment, or keeps it longer. */
  keep(takenAt: number, content: Uint8Array, now: number): Promise<void>;
  /** The content; null when there is none. */
  find(takenAt: number): Promise<Uint8Array | null>;
  /** Removes what was last kept before a time. Resolves to true when nothing is left to remove. */
  prune(before: number): Promise<boolean>;
}
