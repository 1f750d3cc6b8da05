import { idTime } from "../domain/ids.ts";
import { type DeliveryOutcome, OutcomeCollector, type WatchedOutcomes } from "../domain/outcomes.ts";
import type { Broadcast } from "../domain/replicas.ts";
import { allSubjects, type StatisticCounter, type StatisticRow } from "../domain/statistics.ts";
import { systemTimers, type Timers } from "../runtime/timers.ts";
import type { EngineListener } from "./engine.ts";
import type { EndedDelivery } from "./record.ts";

/** The interval at which watched outcomes and changes are reported. */
const reportEveryMs = 200;

interface ReportOptions {
  readonly counter: StatisticCounter;
  /** Sends a message to the other replicas. */
  readonly broadcast: (notification: Broadcast) => void;
  readonly now: () => number;
  readonly timers?: Timers | undefined;
}

/** Reports the engine's work to the statistics, and to open streams of this and other replicas. */
export class Reports {
  readonly #options: ReportOptions;
  readonly #collector = new OutcomeCollector();
  #listener: Pick<EngineListener, "streamed" | "outcomes"> = { streamed() {}, outcomes() {} };
  #cancelTimer: (() => void) | null = null;

  constructor(options: ReportOptions) {
    this.#options = options;
  }

  /** Sets the listener. */
  listen(listener: Pick<EngineListener, "streamed" | "outcomes">): void {
    this.#listener = listener;
  }

  /** Sets which outcomes and changes are collected. */
  watch(watched: WatchedOutcomes): void {
    this.#collector.watch(watched);
  }

  /** Reports an attempt, or the end of a delivery without one. */
  readonly ended = (outcome: EndedDelivery): void => {
    const at = this.#options.now();
    countDelivery(this.#options.counter, outcome, at);
    if (!this.#collector.isWanted(outcome.delivery.application_id)) return;
    this.#collector.add(shownOutcome(outcome, at));
    this.#reportSoon();
  };

  /** Reports that applications have new events on their stream. */
  readonly streamed = (applicationIds: readonly string[]): void => {
    for (const id of applicationIds) this.#options.counter.count("deliveries", id, "streamed", null);
    this.note("deliveries", applicationIds);
    this.#wakeStreams(applicationIds);
  };

  /** Reports new notices about the endpoints of applications, which are also sent on their streams. */
  readonly noticed = (applicationIds: readonly string[]): void => {
    this.note("notices", applicationIds);
    this.#wakeStreams(applicationIds);
  };

  /** Reports that statistics have been stored. */
  readonly counted = (rows: readonly StatisticRow[]): void => {
    const applications = new Set(rows.map(({ subject }) => subject).filter((id) => id !== allSubjects));
    if (applications.size > 0) this.note("statistics", [...applications]);
  };

  /** Reports a change that may be watched; see `OutcomeCollector`. */
  readonly note = (...change: Parameters<OutcomeCollector["note"]>): void => {
    if (this.#collector.note(...change)) this.#reportSoon();
  };

  /** Ends reporting to the listener. */
  stop(): void {
    this.#cancelTimer?.();
  }

  #wakeStreams(applications: readonly string[]): void {
    this.#listener.streamed(applications);
    this.#options.broadcast({ kind: "streamed", applications });
  }

  #reportSoon(): void {
    const { after } = this.#options.timers ?? systemTimers;
    this.#cancelTimer ??= after(reportEveryMs, () => {
      this.#cancelTimer = null;
      this.#listener.outcomes(this.#collector.take(), this.#collector.takeChanged());
    });
  }
}

/** Counts the outcome of a delivery, and the time from publishing to arrival if the first attempt succeeded. */
function countDelivery(
  counter: StatisticCounter,
  { delivery, result, sent }: EndedDelivery,
  now: number,
): void {
  const outcome = result.status === "pending" ? "retried" : result.status;
  const isArrival = sent?.class === "ok" && result.attempts === 1;
  // The id contains the time of publishing.
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
