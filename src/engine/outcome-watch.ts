import {
  type DeliveryOutcome,
  OutcomeCollector,
  type WatchedOutcomes,
} from "../domain/operations/outcomes.ts";
import type { EndedDelivery } from "../webhooks/counts.ts";
import type { OutcomeListener } from "./engine.ts";

/** How often watched outcomes and changes are handed over. */
const handEveryMs = 200;

/** Hands outcomes of deliveries, and changes, to who watches them. */
export class OutcomeWatch {
  readonly #collector = new OutcomeCollector();
  #listener: OutcomeListener = () => {};
  #timer: Timer | null = null;

  constructor(readonly now: () => number) {}

  onOutcomes(listener: OutcomeListener): void {
    this.#listener = listener;
  }

  watch(watched: WatchedOutcomes): void {
    this.#collector.watch(watched);
  }

  ended(outcome: EndedDelivery): void {
    if (!this.#collector.isWanted(outcome.delivery.application_id)) return;
    this.#collector.add(shownOutcome(outcome, this.now()));
    this.#handSoon();
  }

  /** Takes a change that may be watched; see `OutcomeCollector`. */
  readonly note = (...change: Parameters<OutcomeCollector["note"]>): void => {
    if (this.#collector.note(...change)) this.#handSoon();
  };

  /** Hands nothing over any more. */
  stop(): void {
    if (this.#timer) clearTimeout(this.#timer);
  }

  #handSoon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#listener(this.#collector.take(), this.#collector.takeChanged());
    }, handEveryMs);
  }
}

function shownOutcome({ delivery, result, sent }: EndedDelivery, at: number): DeliveryOutcome {
  return {
    delivery_id: delivery.id,
    subscription_id: delivery.subscription_id,
    application_id: delivery.application_id,
    type: delivery.event.name,
    at,
    status: result.status,
    attempt: sent ? result.attempts : 0,
    outcome: sent?.class ?? null,
    http_status: sent?.status ?? null,
    duration_ms: sent?.durationMs ?? null,
    error: sent?.error ?? null,
  };
}
