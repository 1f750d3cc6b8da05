import type { Fence } from "./owned-shards.ts";

/**
 * The deliveries that this process has claimed: those in its memory. The database has them only as pending. When the
 * process dies, the next owner of the endpoint sends all of them again whose results were not recorded.
 */
export class ClaimedDeliveries {
  readonly #byApplication = new Map<string, Set<number>>();
  readonly #fenceOf = new Map<number, Fence>();
  /** When deliveries were recorded or released during a read of the store, which may still show them as pending. */
  readonly #released = new Map<number, number>();
  readonly #reads = new Set<StoreRead>();
  #time = 0;

  /** Call this before reading deliveries to claim, and `end` the result in any case. */
  beginRead(): StoreRead {
    const read: StoreRead = {
      startedAt: this.#time,
      end: () => {
        this.#reads.delete(read);
        if (this.#reads.size === 0) this.#released.clear();
      },
    };
    this.#reads.add(read);
    return read;
  }

  /**
   * Claims a delivery that was read. Returns false when it is claimed already, or was recorded or released since the
   * read began. Its result can be recorded only while the epoch of its fence lasts.
   */
  claim(read: StoreRead, fence: Fence, seq: number): boolean {
    if (this.#fenceOf.has(seq) || (this.#released.get(seq) ?? -1) > read.startedAt) return false;
    this.#fenceOf.set(seq, fence);
    const its = this.#byApplication.get(fence.application);
    if (its) its.add(seq);
    else this.#byApplication.set(fence.application, new Set([seq]));
    return true;
  }

  of(applicationId: string): number[] {
    return [...(this.#byApplication.get(applicationId) ?? [])];
  }

  readonly fenceOf = (seq: number): Fence | undefined => this.#fenceOf.get(seq);

  release(seqs: Iterable<number>): void {
    this.#time++;
    for (const seq of seqs) {
      const application = this.#fenceOf.get(seq)?.application;
      if (application === undefined) continue;
      this.#fenceOf.delete(seq);
      const its = this.#byApplication.get(application);
      its?.delete(seq);
      if (its?.size === 0) this.#byApplication.delete(application);
      if (this.#reads.size > 0) this.#released.set(seq, this.#time);
    }
    this.#forget();
  }

  clear(): void {
    this.release([...this.#fenceOf.keys()]);
  }

  /** Removes entries older than all reads. In a busy process some read is always in progress. */
  #forget(): void {
    if (this.#released.size < 10_000) return;
    const oldest = Math.min(...[...this.#reads].map(({ startedAt }) => startedAt));
    for (const [seq, at] of this.#released) if (at <= oldest) this.#released.delete(seq);
  }
}

/** A read of the store for deliveries to claim. */
export interface StoreRead {
  readonly startedAt: number;
  end(): void;
}
