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

  get length(): number {
    return this.#firsts.length + this.#retries.length;
  }

  get firsts(): number {
    return this.#firsts.length;
  }

  get retries(): number {
    return this.#retries.length;
  }

  push(delivery: DueDelivery): void {
    (delivery.attempts === 0 ? this.#firsts : this.#retries).push(delivery);
  }

  shift(): DueDelivery | undefined {
    const isRetryDue = this.#firstsInARow >= firstsPerRetry && this.#retries.length > 0;
    if (this.#firsts.length === 0 || isRetryDue) {
      this.#firstsInARow = 0;
      return this.#retries.shift();
    }
    this.#firstsInARow++;
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
    return all;
  }

  /** Replaces each delivery in its place; the number of its attempts must stay. */
  change(change: (delivery: DueDelivery) => DueDelivery): void {
    this.#firsts = this.#firsts.map(change);
    this.#retries = this.#retries.map(change);
  }
}
