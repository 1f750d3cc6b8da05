import type { DueDelivery } from "../../domain/deliveries.ts";

/** Where both wait, one retry starts after this many first attempts. */
const firstsPerRetry = 3;

/**
 * Deliveries to one endpoint that are in memory and have not started. First attempts keep their order and do not wait
 * for the retries that are due, of which there may be thousands after an outage; every fourth place is for a retry.
 */
export class DeliveryQueue {
  #firsts: DueDelivery[] = [];
  #retries: DueDelivery[] = [];
  #firstsInARow = 0;
  /** So many of the first attempts are up to the last one of a bulk. */
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

  /** Whether a first attempt waits that belongs to a bulk. */
  get hasBulk(): boolean {
    return this.#upToBulk > 0;
  }

  push(delivery: DueDelivery, isBulk = false): void {
    const isFirst = delivery.attempts === 0;
    (isFirst ? this.#firsts : this.#retries).push(delivery);
    if (isFirst && isBulk) this.#upToBulk = this.#firsts.length;
  }

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

  /** All of them, first attempts first. */
  items(): DueDelivery[] {
    return [...this.#firsts, ...this.#retries];
  }

  /** Takes all of them out. */
  clear(): DueDelivery[] {
    const all = this.items();
    this.#firsts = [];
    this.#retries = [];
    this.#upToBulk = 0;
    return all;
  }

  /** Replaces each delivery in its place; the number of its attempts must stay. */
  change(change: (delivery: DueDelivery) => DueDelivery): void {
    this.#firsts = this.#firsts.map(change);
    this.#retries = this.#retries.map(change);
  }
}
