import { isOverloaded } from "../../../src/delivery/judge.ts";
import type { SendResult } from "../../../src/delivery/send/send.ts";
import { sign } from "../../../src/delivery/signature.ts";
import type { Attempt, DeliveryRecord } from "../../../src/domain/deliveries.ts";
import { disableAfterMs, type Endpoint } from "../../../src/domain/endpoints.ts";
import { day, hour, minute, second } from "../../../src/domain/time.ts";
import type { VirtualTime } from "../virtual-time.ts";
import { Filtering } from "./filters.ts";
import {
  type KnownApplication,
  type KnownDelivery,
  type KnownSubscription,
  newlyKnownDelivery,
} from "./platform.ts";
import type { SeenAttempt } from "./receivers.ts";

/** An endpoint whose receiver is well has got all first attempts within this time, whatever the others do. */
export const boundsMs = {
  /** The others may have attempts under way, which take 15 seconds at most. */
  healthy: minute,
  /** After failures the circuit may be open for 5 minutes, from the moment when the last attempt has timed out. */
  recovering: 6 * minute,
};

/** The promised waits after the first, second, … failed attempt. Each may be a fifth shorter or longer. */
export const promisedWaitsMs: readonly number[] = [
  5 * second,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
  24 * hour,
];

interface Limits {
  readonly concurrency: number;
  readonly connections: number;
}

/** What came of an attempt, as the log has it. */
export const answerOf = ({ outcome, status }: Pick<Attempt, "outcome" | "status">) => `${status ?? outcome}`;

/** What is promised of attempts, checked with each one. What is broken is in `problems`. */
export class Promises {
  readonly problems: string[] = [];
  /** How many have started. */
  attempts = 0;
  readonly applications = new Map<string, KnownApplication>();
  readonly subscriptions = new Map<string, KnownSubscription>();
  readonly deliveries = new Map<string, KnownDelivery>();
  readonly filtering = new Filtering();
  /** When events with a time to live expire. */
  readonly expiring = new Map<string, number>();
  readonly #dropped = new Map<string, Set<string>>();
  /** Those under way, and the generation to which each is sent where that is certain. */
  readonly #underWay = new Map<SeenAttempt, number | null>();

  constructor(
    readonly limits: Limits,
    readonly time: Pick<VirtualTime, "now" | "monotonic">,
    readonly trace: (line: string) => void,
  ) {}

  readonly elapsed = () => this.time.monotonic();

  #broken(what: string, { sequence, subscription, number }: SeenAttempt): void {
    const { application } = this.subscriptions.get(subscription) as KnownSubscription;
    this.problems.push(
      `${what}: attempt ${number} of ${application.id} ${subscription.slice(-3)} ${sequence}`,
    );
  }

  /** The subscriptions whose removal was acknowledged. */
  get removed(): ReadonlySet<KnownSubscription> {
    return new Set([...this.subscriptions.values()].filter(({ removal }) => removal === "acknowledged"));
  }

  /** @param removed those of the time when it was asked for */
  subscribed(subscription: KnownSubscription, removed: ReadonlySet<KnownSubscription>): void {
    const known = this.subscriptions.get(subscription.id);
    if (known && removed.has(known)) this.problems.push("a removed subscription is back");
    if (!known) this.subscriptions.set(subscription.id, subscription);
  }

  deliveryOf({
    id,
    subscription,
    sequence,
    event,
  }: Pick<SeenAttempt, "id" | "subscription" | "sequence" | "event">): KnownDelivery {
    const known = this.deliveries.get(id);
    if (known) return known;
    const of = this.subscriptions.get(subscription);
    if (!of) throw new Error(`there is no subscription ${subscription}`);
    const delivery = newlyKnownDelivery({ id, subscription: of, sequence, event });
    this.deliveries.set(id, delivery);
    if (this.filtering.isKeptAway(event, of.application))
      this.problems.push(
        `the event ${event} has a delivery for ${of.application.id}, whose filter excludes it`,
      );
    return delivery;
  }

  ofRecord({ id, subscription_id: subscription, sequence, event_id: event }: DeliveryRecord): KnownDelivery {
    return this.deliveryOf({ id, subscription, sequence, event });
  }

  started(attempt: SeenAttempt): void {
    const delivery = this.deliveryOf(attempt);
    const { application } = delivery.subscription;
    this.attempts++;
    this.#say("starts", attempt);
    if (delivery.underWay) this.#broken("sent twice at once", attempt);
    // Its result was in memory when the application was disabled, and it was asked for again at once.
    const mayRepeat = this.#mayEndUnsent(delivery) && this.everAsked(delivery) > 0;
    if (attempt.number !== delivery.attempts + 1 && !mayRepeat)
      this.#broken(`behind ${delivery.attempts} attempts came another number`, attempt);
    if (delivery.isTaken && ++delivery.repeats > this.everAsked(delivery))
      this.#broken("sent again although it was taken", attempt);
    delivery.isTaken = false;
    // A person may ask for what has expired.
    const expiresAt = this.expiring.get(attempt.event) ?? Number.POSITIVE_INFINITY;
    if (expiresAt <= this.time.now() && this.everAsked(delivery) === 0)
      this.#broken("sent although it has expired", attempt);
    this.#checkWaits(attempt, delivery, application);
    const generation = application.changing > 0 ? null : (application.committed?.endpoint_generation ?? null);
    if (generation !== null && generation === application.disabledGeneration)
      this.#broken("sent to a disabled endpoint", attempt);
    this.#checkConcurrency(attempt, application, generation);
    delivery.underWay = attempt;
    this.#underWay.set(attempt, generation);
  }

  #checkWaits(attempt: SeenAttempt, { lastFailure }: KnownDelivery, application: KnownApplication): void {
    const at = this.elapsed();
    // A replay ends the pause before it is acknowledged.
    if (application.changing === 0 && at < application.pausedUntil)
      this.#broken("sent although its receiver asked to be left alone", attempt);
    if (!lastFailure || application.excusedAt >= lastFailure.began || application.changing > 0) return;
    if (at < lastFailure.at + lastFailure.shortestMs) this.#broken("sent again too soon", attempt);
    if (application.wellSince === null) return;
    const mayTakeMs = boundsMs[application.hadTrouble ? "recovering" : "healthy"];
    const latest = Math.max(lastFailure.at + lastFailure.longestMs, application.wellSince + mayTakeMs);
    if (at > latest) this.#broken("sent again too late", attempt);
  }

  #checkConcurrency(attempt: SeenAttempt, application: KnownApplication, generation: number | null): void {
    if (this.#underWay.size >= this.limits.connections) this.#broken("too many connections", attempt);
    if (generation === null) return;
    const beside = [...this.#underWay].filter(
      ([one, its]) =>
        its === generation && this.subscriptions.get(one.subscription)?.application === application,
    );
    const most = application.committed?.webhook_concurrency ?? this.limits.concurrency;
    if (beside.length >= most) this.#broken(`more than ${most} at once`, attempt);
  }

  /** What is written behind an acknowledgement follows it. */
  written(attempt: SeenAttempt): void {
    const { subscription } = this.deliveryOf(attempt);
    const { committed, changing } = subscription.application;
    this.#say("is written", attempt);
    this.#made(attempt);
    if (subscription.removal === "acknowledged") this.#broken("its subscription is removed", attempt);
    if (changing > 0) return;
    if (!committed || committed.disabled || committed.delivery === "stream") {
      this.#broken("its application gets none", attempt);
      return;
    }
    if (attempt.url !== committed.webhook_url) this.#broken("sent to a former URL", attempt);
    const { headers, body } = attempt.request;
    const signed = sign({
      id: attempt.id,
      timestampSeconds: Number(headers["webhook-timestamp"]),
      body: Buffer.from(body),
      secrets: [committed.webhook_secret],
    });
    const signatures = headers["webhook-signature"]?.split(" ").filter((one) => one.startsWith("v1,"));
    if (signatures?.join() !== signed) this.#broken("signed with a former secret", attempt);
  }

  /** Its first attempt is made: those of a subscription start in the order of publishing. */
  #made(attempt: SeenAttempt): void {
    const delivery = this.deliveryOf(attempt);
    if (delivery.firstMade !== null) return;
    delivery.firstMade = attempt.index;
    // What had ended without an attempt may be asked for later.
    if (this.#mayEndUnsent(delivery) && this.everAsked(delivery) > 0) return;
    for (const other of this.deliveries.values()) {
      if (other.subscription !== delivery.subscription || other.firstMade === null) continue;
      const isBefore = other.firstMade >= delivery.lateUntil && other.firstMade < attempt.index;
      if (other.sequence > delivery.sequence && isBefore)
        this.#broken(`${other.sequence} started before`, attempt);
    }
  }

  ended(attempt: SeenAttempt, result: SendResult): void {
    const delivery = this.deliveryOf(attempt);
    const { application } = delivery.subscription;
    this.#say(`ends as ${result.status ?? result.class}`, attempt);
    const generation = this.#underWay.get(attempt);
    this.#underWay.delete(attempt);
    delivery.underWay = null;
    if (result.class === "canceled") return;
    this.#made(attempt);
    delivery.attempts++;
    delivery.answered.push(answerOf({ outcome: result.class, status: result.status }));
    delivery.isTaken = result.class === "ok";
    if (delivery.isTaken) delivery.wasTaken = true;
    else this.#failed(attempt, result, delivery);
    this.#mayDisable(application, result);
    const isCurrent = generation != null && generation === application.committed?.endpoint_generation;
    if (application.changing > 0 || !isCurrent) {
      if (delivery.isTaken) application.failingSince = null;
      return;
    }
    this.#disables(application, generation, result);
    const pauseMs = isOverloaded(result.status) ? Math.max(1_000, result.retryAfterMs ?? 0) : 0;
    if (pauseMs > 0) application.pausedUntil = Math.max(application.pausedUntil, this.elapsed() + pauseMs);
  }

  /** What was certainly sent to this generation: it is disabled by 410, or behind 24 hours of failures. */
  #disables(application: KnownApplication, generation: number, { class: outcome, status }: SendResult): void {
    const at = this.elapsed();
    if (outcome === "ok") {
      application.failingSince = null;
      application.mayFailSince = null;
      return;
    }
    application.failingSince ??= at;
    const isLong = at - application.failingSince >= disableAfterMs;
    if (status === 410 || isLong) application.disabledGeneration = generation;
  }

  /** What may have been sent to the present generation. */
  #mayDisable(application: KnownApplication, { class: outcome, status }: SendResult): void {
    if (outcome === "ok") return;
    const at = this.elapsed();
    application.mayFailSince ??= at;
    if (status === 410 || at - application.mayFailSince >= disableAfterMs) application.mayDisableAt = at;
  }

  /** Its endpoint is another, or was enabled. Attempts since the change was asked for may belong to it. */
  renewed(application: KnownApplication): void {
    application.generations++;
    application.hadTrouble = false;
    application.failingSince = null;
    application.generationSince = application.changingSince;
    // Failures of the former generation at the same moment may count for none.
    if (application.mayFailSince !== null)
      application.mayFailSince = Math.max(application.mayFailSince, application.changingSince);
    this.excuse(application);
  }

  /** An endpoint is disabled only where there was a reason. */
  disabled({ application_id, disabled_at, generation }: Endpoint): void {
    const application = this.applications.get(application_id);
    if (!application || disabled_at === null || application.changing > 0) return;
    if (generation !== application.committed?.endpoint_generation) return;
    if ((application.mayDisableAt ?? -1) < application.generationSince)
      this.problems.push(`the endpoint of ${application_id} is disabled without a reason`);
  }

  /** What the store has of an endpoint when a process begins; null: nothing that is wrong. */
  restored(application: KnownApplication, endpoint: Endpoint | null, now: number): void {
    const at = this.elapsed();
    const isDisabled = endpoint !== null && endpoint.disabled_at !== null;
    const since = endpoint?.failing_since ?? null;
    application.disabledGeneration = isDisabled ? (endpoint?.generation ?? null) : null;
    application.failingSince = since === null ? null : at - (now - since);
    application.mayFailSince = application.failingSince;
    application.generationSince = at;
    application.mayDisableAt = isDisabled ? at : null;
    application.hadTrouble = endpoint !== null;
    this.excuse(application);
  }

  #failed(attempt: SeenAttempt, result: SendResult, delivery: KnownDelivery): void {
    delivery.subscription.application.hadTrouble = true;
    if (result.status === 410) delivery.wasGone = true;
    const { attempts, subscription } = delivery;
    // What was asked for, and what a former URL has answered, is not part of the schedule.
    const isScheduled = this.everAsked(delivery) + subscription.application.generations === 0;
    const scheduledMs = promisedWaitsMs[isScheduled ? attempts - 1 : 0] ?? 0;
    const askedMs = result.retryAfterMs ?? 0;
    delivery.lastFailure = {
      began: attempt.startedAt,
      at: this.elapsed(),
      askedMs,
      shortestMs: Math.max(0.8 * scheduledMs, askedMs),
      longestMs: isScheduled
        ? Math.max(1.2 * scheduledMs, Math.min(1.2 * askedMs, day))
        : Number.POSITIVE_INFINITY,
    };
  }

  #mayEndUnsent({ event, subscription: { application } }: KnownDelivery): boolean {
    if (this.expiring.has(event) || this.droppedOf(application).has(event)) return true;
    return application.wasDisabled || application.wasStream;
  }

  everAsked({ retries, subscription }: KnownDelivery): number {
    return retries + subscription.application.replays;
  }

  /** Events that an application may not get, because its endpoint was disabled for long. */
  droppedOf({ id }: KnownApplication): Set<string> {
    const events = this.#dropped.get(id) ?? new Set();
    this.#dropped.set(id, events);
    return events;
  }

  /** A process ends, or was killed: what is under way there is sent by the next one. */
  processEnds(): void {
    for (const attempt of this.#underWay.keys()) {
      const delivery = this.deliveryOf(attempt);
      delivery.underWay = null;
      delivery.lateUntil = this.attempts;
    }
    this.#underWay.clear();
    this.filtering.processEnds();
  }

  excuse(application: KnownApplication): void {
    application.excusedAt = this.elapsed();
    application.pausedUntil = 0;
  }

  #say(what: string, { index, sequence, subscription, number }: SeenAttempt): void {
    const name = this.subscriptions.get(subscription)?.application.id;
    this.trace(`  #${index}: ${name} ${subscription.slice(-3)} ${sequence}, attempt ${number}, ${what}`);
  }
}
