import type { Fence } from "./owned-shards.ts";

/**
 * The deliveries in this process's memory. The database has them only as pending. When the process dies, the next owner of the
 * endpoint sends all of them again whose results were not recorded.
 */
export class HandedOut {
  readonly #byApplication = new Map<string, Set<number>>();
  readonly #fenceOf = new Map<number, Fence>();
  /** When deliveries were recorded or released during a read of the store, which may still show them as pending. */
  readonly #ended = new Map<number, number>();
  readonly #looks = new Set<Look>();
  #time = 0;

  /** Call this before reading deliveries to take, and `end` the result in any case. */
  look(): Look {
    const look: Look = {
      startedAt: this.#time,
      end: () => {
        this.#looks.delete(look);
        if (this.#looks.size === 0) this.#ended.clear();
      },
    };
    this.#looks.add(look);
    return look;
  }

  /**
   * Takes a delivery that was read. Returns false when it is in memory already, or was recorded or released since the read
   * began. Its result can be recorded only while the epoch of its fence lasts.
   */
  take(look: Look, fence: Fence, seq: number): boolean {
    if (this.#fenceOf.has(seq) || (this.#ended.get(seq) ?? -1) > look.startedAt) return false;
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

  end(seqs: Iterable<number>): void {
    this.#time++;
    for (const seq of seqs) {
      const application = this.#fenceOf.get(seq)?.application;
      if (application === undefined) continue;
      this.#fenceOf.delete(seq);
      const its = this.#byApplication.get(application);
      its?.delete(seq);
      if (its?.size === 0) this.#byApplication.delete(application);
      if (this.#looks.size > 0) this.#ended.set(seq, this.#time);
    }
    this.#forget();
  }

  clear(): void {
    this.end([...this.#fenceOf.keys()]);
  }

  /** Removes entries older than all reads. In a busy process some read is always in progress. */
  #forget(): void {
    if (this.#ended.size < 10_000) return;
    const oldest = Math.min(...[...this.#looks].map(({ startedAt }) => startedAt));
    for (const [seq, at] of this.#ended) if (at <= oldest) this.#ended.delete(seq);
  }
}

/** A read of the store for deliveries to take. */
export interface Look {
  readonly startedAt: number;
  end(): void;
}
