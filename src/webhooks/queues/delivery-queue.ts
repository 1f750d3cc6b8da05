import type { DueDelivery } from "../../domain/deliveries.ts";

/** When both kinds wait, a retry starts after this many first attempts. */
const firstsPerRetry = 3;

/**
 * The deliveries to one endpoint that wait in memory. First attempts keep their order. They do not wait for all retries
 * that are due, which may be thousands after an outage: when both wait, every fourth delivery is a retry.
 */
export class DeliveryQueue {
  #firsts: DueDelivery[] = [];
  #retries: DueDelivery[] = [];
  #firstsInARow = 0;
  /** The number of first attempts up to the last one that belongs to a bulk, inclusive. */
  #upToBulk = 0;

  get length(): number {
    return this.#firsts.length + this.#retries.length;
  }

  get firsts(): number {
    return this.#firsts.length;
  }

  get retries(): number {
    return this.#retries.length;
  }

  /** Whether a first attempt that belongs to a bulk waits. */
  get hasBulk(): boolean {
    return this.#upToBulk > 0;
  }

  push(delivery: DueDelivery, isBulk = false): void {
    const isFirst = delivery.attempts === 0;
    (isFirst ? this.#firsts : this.#retries).push(delivery);
    if (isFirst && isBulk) this.#upToBulk = this.#firsts.length;
  }

  /** Removes and returns the next delivery. */
  shift(): DueDelivery | undefined {
    const isRetryDue = this.#firstsInARow >= firstsPerRetry && this.#retries.length > 0;
    if (this.#firsts.length === 0 || isRetryDue) {
      this.#firstsInARow = 0;
      return this.#retries.shift();
    }
    this.#firstsInARow++;
    this.#upToBulk = Math.max(0, this.#upToBulk - 1);
    return this.#firsts.shift();
  }

  /** All deliveries, first attempts first. */
  items(): DueDelivery[] {
    return [...this.#firsts, ...this.#retries];
  }

  /** Removes and returns all deliveries. */
  clear(): DueDelivery[] {
    const all = this.items();
    this.#firsts = [];
    this.#retries = [];
    this.#upToBulk = 0;
    return all;
  }

  /** Replaces each delivery by the result of `change`, which must not change the number of attempts. */
  change(change: (delivery: DueDelivery) => DueDelivery): void {
    this.#firsts = this.#firsts.map(change);
    this.#retries = this.#retries.map(change);
  }
}
