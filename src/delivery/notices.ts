import type { KeyObject } from "node:crypto";
import type { Recipient } from "../domain/applications.ts";
import { type Endpoint, endpointStatus } from "../domain/endpoints.ts";
import { newId } from "../domain/ids.ts";
import {
  type EndpointNotice,
  type NewNotice,
  type NoticeSending,
  type NoticeType,
  noticeLimits,
  type ServerNotice,
  type ServerNoticeData,
} from "../domain/notices.ts";
import type { Ownership } from "../domain/replicas.ts";
import type { Store } from "../domain/store.ts";
import { isoTime, isoTimeOrNull, minute, second } from "../domain/time.ts";
import type { Timers } from "../runtime/event-loop.ts";
import type { Log } from "../runtime/log.ts";
import { repeating, type Service } from "../runtime/services.ts";
import { endpointSummary } from "./diagnosis.ts";
import { nextStep } from "./judge.ts";
import type { Sender, SendResult } from "./send/send.ts";
import { signedNoticeHeaders } from "./signature.ts";

/** Makes notices. */
export interface Notices {
  ofEndpoint(type: EndpointNotice, endpoint: Endpoint, recipient: Recipient, at: number): NewNotice;
  ofServer(type: ServerNotice, data: ServerNoticeData, at: number): NewNotice;
}

/**
 * Returns a maker of notices.
 *
 * @param isSent whether notices are sent to a notify URL
 */
export function noticesOf(isSent: boolean): Notices {
  const made = (type: NoticeType, application_id: string | null, data: object, at: number): NewNotice => ({
    id: newId(),
    type,
    application_id,
    body: JSON.stringify({ type, version: 1, timestamp: isoTime(at), data }),
    created_at: at,
    sending: {
      status: isSent ? "pending" : "unsent",
      attempts: 0,
      next_attempt_at: isSent ? at : null,
      error: null,
    },
  });
  return {
    ofEndpoint(type, endpoint, recipient, at) {
      const { application_id, disabled_reason, disabled_at, failing_since, failures } = endpoint;
      const { last_failure_at, last_failure_status: status, last_failure_error: error } = endpoint;
      const data = {
        ...endpointSummary({ ...recipient, disabled: false }, endpoint),
        application_id,
        status: endpointStatus(endpoint),
        disabled_reason,
        since: isoTimeOrNull(disabled_at ?? failing_since),
        failures,
        last_failure: last_failure_at === null ? null : { at: isoTime(last_failure_at), status, error },
      };
      return made(type, application_id, data, at);
    },
    ofServer: (type, data, at) => made(type, null, data, at),
  };
}

/** The interval at which notices that are due are looked for. */
const lookEveryMs = second;
/** The lease of a claimed notice. After the lease another process may send the notice. */
const leaseMs = minute;
/** The maximum number of concurrent attempts from memory, and of concurrent attempts from the store. */
const atOnce = 4;
/** The maximum number of notices in memory that the storage refuses. The oldest are dropped. */
const maxUnstored = 100;

interface NotifierOptions {
  readonly store: Pick<Store, "notices">;
  readonly ownership: Pick<Ownership, "leads">;
  /** Must not be the sender of deliveries: a notify URL that hangs must not use the connections of deliveries. */
  readonly sender: Pick<Sender, "send">;
  /** The notify URL; null if notices are only stored. */
  readonly url: string | null;
  /** The operator's `whsec_…`; null if only the platform's key signs. */
  readonly secret: string | null;
  readonly signingKey: KeyObject;
  readonly log: Log;
  readonly now: () => number;
  /** Returns a number from 0 to 1, for the jitter of retries. */
  readonly random: () => number;
  /** Whether sending is suspended. */
  readonly isHeld: () => boolean;
  readonly timers?: Timers | undefined;
}

interface Notifier extends Service {
  /**
   * Stores a notice, which is then sent. A notice that the storage refuses, for example on a full disk, is sent from
   * memory, and stored as soon as possible. Never rejects.
   */
  announce(notice: NewNotice): Promise<void>;
}

/**
 * Creates the service that sends notices to the operator's URL, signed like webhooks and retried by the schedule of
 * deliveries, always under the same id. After a crash, a notice whose outcome was not stored is sent again.
 */
export function createNotifier(options: NotifierOptions): Notifier {
  const { store, ownership, sender, url, secret, signingKey, log, now, random, isHeld, timers } = options;
  /** Notices whose newest state is not stored yet, by id. */
  const unstored = new Map<string, NewNotice>();

  const keep = async (notice: NewNotice): Promise<void> => {
    unstored.set(notice.id, notice);
    try {
      await store.notices.put(notice);
      if (unstored.get(notice.id) === notice) unstored.delete(notice.id);
    } catch {
      // Not logged here: the storage reports its own failures.
      for (const id of unstored.keys()) if (unstored.size > maxUnstored) unstored.delete(id);
    }
  };

  const send = async (notice: NewNotice, to: string, signal: AbortSignal): Promise<void> => {
    const at = now();
    const headers = signedNoticeHeaders(notice, secret === null ? [] : [secret], signingKey, at);
    const sent = await sender.send({ url: to, headers, body: Buffer.from(notice.body) }, signal);
    if (sent.class === "canceled") return;
    const sending = stateAfter(notice, sent, { now: now(), random: random() });
    log.info("notice", {
      notice_id: notice.id,
      type: notice.type,
      application_id: notice.application_id,
      attempt: sending.attempts,
      outcome: sent.class,
      status: sent.status,
      error: sent.error,
      decision: sending.status,
    });
    await keep({ ...notice, sending });
  };

  /**
   * Claims the notices that are due in the store, except those that are sent from memory; none while the store fails.
   */
  const claimed = async (inMemory: readonly NewNotice[]): Promise<readonly NewNotice[]> => {
    try {
      const found = await store.notices.claim(now(), now() + leaseMs, atOnce);
      return found.filter(({ id }) => !unstored.has(id) && !inMemory.some((notice) => notice.id === id));
    } catch {
      return [];
    }
  };

  const isDue = ({ sending }: NewNotice): boolean =>
    sending.status === "pending" && (sending.next_attempt_at ?? 0) <= now();

  const round = async (signal: AbortSignal): Promise<void> => {
    const inMemory = url === null || isHeld() ? [] : [...unstored.values()].filter(isDue).slice(0, atOnce);
    for (const notice of unstored.values()) if (!inMemory.includes(notice)) await keep(notice);
    if (url === null || isHeld()) return;
    // Only the leader sends stored notices, so that one clock decides when they are due.
    const stored = ownership.leads() ? await claimed(inMemory) : [];
    await Promise.all([...inMemory, ...stored].map((notice) => send(notice, url, signal)));
  };

  return { ...repeating("notices", lookEveryMs, round, timers), announce: keep };
}

/** Returns the state of a notice after an attempt, by the rules of deliveries. */
function stateAfter(
  { sending, created_at }: NewNotice,
  sent: SendResult,
  { now, random }: { readonly now: number; readonly random: number },
): NoticeSending {
  const attempts = sending.attempts + 1;
  const expiresAt = created_at + noticeLimits.keepMs;
  // Without the status, so that a 410 is a failure like others: the operator may correct the URL.
  const outcome = { class: sent.class, status: null, retryAfterMs: sent.retryAfterMs };
  const decision = nextStep({ attempt: attempts, resumeAt: null, outcome, now, expiresAt, random });
  if (decision.kind === "delivered") {
    return { status: "delivered", attempts, next_attempt_at: null, error: null };
  }
  const isAgain = decision.kind === "retry";
  const next_attempt_at = decision.kind === "retry" ? decision.at : null;
  return { status: isAgain ? "pending" : "failed", attempts, next_attempt_at, error: sent.error };
}
