import type { KeyObject } from "node:crypto";
import { type Application, webhookSecrets } from "../domain/applications.ts";
import type { Attempt, AttemptResult, DueDelivery } from "../domain/deliveries.ts";
import { second } from "../domain/time.ts";
import { errorFields, type Log } from "../log.ts";
import type { Store } from "../store/store.ts";
import { type Decision, nextStep } from "./retry.ts";
import type { Sender, SendResult } from "./sender.ts";
import { sign } from "./signature.ts";

/** What is known of the endpoint of one application while it has something pending. */
interface Endpoint {
  inFlight: number;
  claiming: boolean;
  /** When its next delivery is due; null: nothing is pending beyond what is in flight. */
  dueAt: number | null;
  /** It asked to be left alone until then. */
  pausedUntil: number;
}

export interface DispatcherOptions {
  readonly store: Pick<Store, "applications" | "deliveries">;
  readonly sender: Pick<Sender, "send">;
  readonly signingKey: KeyObject;
  readonly log: Log;
  readonly now: () => number;
  /** From 0 to 1, for the jitter of retries. */
  readonly random: () => number;
}

export interface Dispatcher {
  /** Takes up what is pending in the store, and works until the signal; then no attempt is under way any more. */
  run(signal: AbortSignal): Promise<void>;
  /** Tells that deliveries of these applications may be due now. */
  wake(applicationIds: readonly string[]): void;
}

/** So many attempts run at once for one endpoint, so that a slow one holds up nobody else. */
const maxPerEndpoint = 64;
/** More is claimed when so few are left, because a claim has to pass over everything that is in flight. */
const refillBelow = maxPerEndpoint / 2;
/** The least time that an endpoint is left alone after it answered that it has too much to do. */
const minPauseMs = second;
const recordAgainAfterMs = second;
/** Timers beyond this overflow; waking up early does no harm. */
const longestTimerMs = 3_600 * second;

/** An attempt that failed on our side; the schedule goes on. */
const notMade: SendResult = {
  class: "internal",
  status: null,
  retryAfterMs: null,
  durationMs: 0,
  responseBody: "",
  error: "The request could not be made.",
  timings: { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null },
  repeated: false,
};

/**
 * Sends what is due: claims from the store, signs, sends, and records what became of it. It keeps nothing that
 * matters: what it has not recorded when the process ends is pending still, and is sent again under the same id.
 */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { store, sender, signingKey, log, now, random } = options;
  const endpoints = new Map<string, Endpoint>();
  const results: AttemptResult[] = [];
  let stopping: AbortSignal | null = null;
  let timer: Timer | null = null;
  let recording: Promise<void> | null = null;
  let idle = Promise.withResolvers<void>();

  const endpointOf = (id: string): Endpoint => {
    let endpoint = endpoints.get(id);
    if (!endpoint) {
      endpoint = { inFlight: 0, claiming: false, dueAt: null, pausedUntil: 0 };
      endpoints.set(id, endpoint);
    }
    return endpoint;
  };

  const readyAt = ({ dueAt, pausedUntil }: Endpoint) =>
    dueAt === null ? null : Math.max(dueAt, pausedUntil);

  /** Starts whatever may start, and sets the timer for the next that will. */
  const pump = (): void => {
    if (stopping?.aborted) return;
    let next = Number.POSITIVE_INFINITY;
    for (const [id, endpoint] of endpoints) {
      const at = readyAt(endpoint);
      if (endpoint.claiming || endpoint.inFlight > refillBelow) continue;
      if (at === null) {
        if (endpoint.inFlight === 0) endpoints.delete(id);
      } else if (at <= now()) void claim(id, endpoint);
      else next = Math.min(next, at);
    }
    if (timer) clearTimeout(timer);
    timer = Number.isFinite(next) ? setTimeout(pump, Math.min(next - now(), longestTimerMs)) : null;
  };

  const claim = async (id: string, endpoint: Endpoint): Promise<void> => {
    endpoint.claiming = true;
    endpoint.dueAt = null;
    try {
      // First, so that nothing is claimed when it fails.
      const application = await store.applications.find(id);
      const { due, nextDueAt } = await store.deliveries.claim(id, now(), maxPerEndpoint - endpoint.inFlight);
      // While this was awaited, a wake may have set an earlier time.
      if (nextDueAt !== null) endpoint.dueAt = Math.min(nextDueAt, endpoint.dueAt ?? nextDueAt);
      if (stopping?.aborted) return; // they stay pending
      for (const delivery of due) {
        endpoint.inFlight++;
        void attempt(delivery, application, endpoint);
      }
    } catch (error) {
      log.error("claim_failed", { application_id: id, ...errorFields(error) });
      endpoint.dueAt = now() + recordAgainAfterMs;
    } finally {
      endpoint.claiming = false;
    }
    pump();
  };

  const attempt = async (delivery: DueDelivery, application: Application | null, endpoint: Endpoint) => {
    try {
      const result = await resultOf(delivery, application, endpoint);
      if (result) {
        results.push(result);
        recording ??= record();
        await recording;
        if (result.next_attempt_at !== null) {
          endpoint.dueAt = Math.min(result.next_attempt_at, endpoint.dueAt ?? result.next_attempt_at);
        }
      }
    } finally {
      endpoint.inFlight--;
      if (stopping?.aborted && ![...endpoints.values()].some(({ inFlight }) => inFlight > 0)) idle.resolve();
      else pump();
    }
  };

  /** What became of a delivery; null: nothing that counts, because this process is stopping. */
  const resultOf = async (
    delivery: DueDelivery,
    application: Application | null,
    endpoint: Endpoint,
  ): Promise<AttemptResult | null> => {
    const startedAt = now();
    const nothingSent = { delivery_id: delivery.id, at: startedAt, attempt: null, next_attempt_at: null };
    if (!application) return { ...nothingSent, status: "canceled" };
    if (delivery.expires_at !== null && delivery.expires_at <= startedAt)
      return { ...nothingSent, status: "expired" };
    const sent = await send(delivery, application, startedAt).catch((error): SendResult => {
      log.error("attempt_failed", { delivery_id: delivery.id, ...errorFields(error) });
      return notMade;
    });
    if (sent.class === "canceled") return null;
    const number = delivery.attempts + 1;
    const at = now();
    const decision = nextStep({
      attempt: number,
      outcome: sent,
      now: at,
      expiresAt: delivery.expires_at,
      random: random(),
    });
    if (decision.kind !== "delivered" && decision.slowDownEndpoint) {
      endpoint.pausedUntil = at + Math.max(sent.retryAfterMs ?? 0, minPauseMs);
    }
    logAttempt(log, delivery, number, sent, decision);
    return {
      delivery_id: delivery.id,
      at,
      attempt: attemptOf(sent, startedAt),
      status: decision.kind === "retry" ? "pending" : decision.kind,
      next_attempt_at: decision.kind === "retry" ? decision.at : null,
    };
  };

  const send = async (delivery: DueDelivery, application: Application, at: number) => {
    const { id, event } = delivery;
    const timestampSeconds = Math.floor(at / 1000);
    const secrets = webhookSecrets(application, at);
    return sender.send({
      url: application.webhook_url ?? "",
      body: Buffer.from(event.body),
      headers: {
        "webhook-id": id,
        "webhook-timestamp": String(timestampSeconds),
        "webhook-signature": sign({ id, timestampSeconds, body: event.body, secrets, ed25519: signingKey }),
        "onair-event-type": event.name,
        "onair-event-version": String(event.version),
        "onair-event-id": event.id,
        "onair-subscription-id": delivery.subscription_id,
        "onair-sequence": String(delivery.sequence),
        "onair-attempt": String(delivery.attempts + 1),
      },
    });
  };

  /** Records all results that there are, together; when the disk is full it tries again until they are kept. */
  const record = async (): Promise<void> => {
    await new Promise(setImmediate);
    recording = null;
    const batch = results.splice(0);
    for (;;) {
      try {
        return await store.deliveries.record(batch);
      } catch (error) {
        log.error("record_failed", { deliveries: batch.length, ...errorFields(error) });
        if (stopping?.aborted) return;
        await Bun.sleep(recordAgainAfterMs);
      }
    }
  };

  return {
    async run(signal) {
      stopping = signal;
      idle = Promise.withResolvers<void>();
      for (const { application_id, due_at } of await store.deliveries.pending()) {
        endpointOf(application_id).dueAt = due_at;
      }
      pump();
      await new Promise((resolve) => {
        if (signal.aborted) resolve(null);
        else signal.addEventListener("abort", resolve, { once: true });
      });
      if (timer) clearTimeout(timer);
      if ([...endpoints.values()].some(({ inFlight }) => inFlight > 0)) await idle.promise;
    },
    wake(applicationIds) {
      const at = now();
      for (const id of applicationIds) {
        const endpoint = endpointOf(id);
        endpoint.dueAt = Math.min(at, endpoint.dueAt ?? at);
      }
      pump();
    },
  };
}

function attemptOf(sent: SendResult, at: number): Attempt {
  const { class: outcome, status, durationMs: duration_ms, error, responseBody: response } = sent;
  return { at, outcome, status, duration_ms, error, response };
}

function logAttempt(
  log: Log,
  delivery: DueDelivery,
  number: number,
  sent: SendResult,
  decision: Decision,
): void {
  log.info("delivery", {
    delivery_id: delivery.id,
    subscription_id: delivery.subscription_id,
    application_id: delivery.application_id,
    type: delivery.event.name,
    attempt: number,
    outcome: sent.class,
    status: sent.status,
    duration_ms: sent.durationMs,
    error: sent.error,
    decision: decision.kind,
  });
}
