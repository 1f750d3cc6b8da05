import type { Fence } from "./owned-shards.ts";

/**
 * Which deliveries are in this process's memory. The store does not know: its rows say only that they are pending, and
 * when the process is gone, exactly what was not recorded is sent again by the next owner of the endpoint.
 */
export class HandedOut {
  readonly #byApplication = new Map<string, Set<number>>();
  readonly #fenceOf = new Map<number, Fence>();
  /** What was recorded or given back while a look at the store was under way, which may show it as it was before. */
  readonly #ended = new Map<number, number>();
  readonly #looks = new Set<Look>();
  #time = 0;

  /** To be called before the store is looked at; `end` it in any case. */
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
   * Takes a delivery that a look has found; false: it is here already, or was here since the look began. What comes of it
   * is recorded as long as the fence stands in which it was taken.
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

  /** Some look is always under way in a busy process: what is older than all of them is of no use. */
  #forget(): void {
    if (this.#ended.size < 10_000) return;
    const oldest = Math.min(...[...this.#looks].map(({ startedAt }) => startedAt));
    for (const [seq, at] of this.#ended) if (at <= oldest) this.#ended.delete(seq);
  }
}

/** A look at the store for deliveries to take. */
export interface Look {
  readonly startedAt: number;
  end(): void;
}
