import { idTime } from "../domain/ids.ts";
import {
  type DeliveryOutcome,
  OutcomeCollector,
  type WatchedOutcomes,
} from "../domain/operations/outcomes.ts";
import { allSubjects, type StatisticCounter, type StatisticRow } from "../domain/operations/statistics.ts";
import type { SentNews } from "../store/replicas/news.ts";
import type { EndedDelivery } from "../webhooks/counts.ts";
import type { EngineListener } from "./engine.ts";

/** How often watched outcomes and changes are handed over. */
const handEveryMs = 200;

interface ReportOptions {
  readonly counter: StatisticCounter;
  /** Sends a message to the other replicas. */
  readonly broadcast: (news: SentNews) => void;
  readonly now: () => number;
}

/** What the engine reports of its work: to the statistics, to open streams here and on other replicas. */
export class Reports {
  readonly #options: ReportOptions;
  readonly #collector = new OutcomeCollector();
  #listener: Pick<EngineListener, "streamed" | "outcomes"> = { streamed() {}, outcomes() {} };
  #timer: Timer | null = null;

  constructor(options: ReportOptions) {
    this.#options = options;
  }

  listen(listener: Pick<EngineListener, "streamed" | "outcomes">): void {
    this.#listener = listener;
  }

  watch(watched: WatchedOutcomes): void {
    this.#collector.watch(watched);
  }

  /** A delivery has ended, or an attempt of it. */
  readonly ended = (outcome: EndedDelivery): void => {
    const at = this.#options.now();
    countDelivery(this.#options.counter, outcome, at);
    if (!this.#collector.isWanted(outcome.delivery.application_id)) return;
    this.#collector.add(shownOutcome(outcome, at));
    this.#handSoon();
  };

  /** These applications have new events on their stream. */
  readonly streamed = (applicationIds: readonly string[]): void => {
    for (const id of applicationIds) this.#options.counter.count("deliveries", id, "streamed", null);
    this.note("deliveries", applicationIds);
    this.#wakeStreams(applicationIds);
  };

  /** There are notices about the endpoints of these applications, which their streams have, too. */
  readonly noticed = (applicationIds: readonly string[]): void => {
    this.note("notices", applicationIds);
    this.#wakeStreams(applicationIds);
  };

  /** These statistics are in the store. */
  readonly counted = (rows: readonly StatisticRow[]): void => {
    const applications = new Set(rows.map(({ subject }) => subject).filter((id) => id !== allSubjects));
    if (applications.size > 0) this.note("statistics", [...applications]);
  };

  /** Takes a change that may be watched; see `OutcomeCollector`. */
  readonly note = (...change: Parameters<OutcomeCollector["note"]>): void => {
    if (this.#collector.note(...change)) this.#handSoon();
  };

  /** Hands nothing over any more. */
  stop(): void {
    if (this.#timer) clearTimeout(this.#timer);
  }

  #wakeStreams(applications: readonly string[]): void {
    this.#listener.streamed(applications);
    this.#options.broadcast({ kind: "streamed", applications });
  }

  #handSoon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#listener.outcomes(this.#collector.take(), this.#collector.takeChanged());
    }, handEveryMs);
  }
}

/** Counts what became of a delivery, and how long the first attempt took from publishing to arrival. */
function countDelivery(
  counter: StatisticCounter,
  { delivery, result, sent }: EndedDelivery,
  now: number,
): void {
  const outcome = result.status === "pending" ? "retried" : result.status;
  const isArrival = sent?.class === "ok" && result.attempts === 1;
  // The id of a delivery is made when it is published.
  const arrivalMs = isArrival ? Math.max(0, now - idTime(delivery.id)) : null;
  counter.count("deliveries", delivery.application_id, outcome, arrivalMs);
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
