import type { KeyObject } from "node:crypto";
import { type NewNotice, type NoticeSending, noticeLimits } from "../../domain/operations/notices.ts";
import { minute, second } from "../../domain/time.ts";
import type { Log } from "../../log/log.ts";
import { pause, type Service } from "../../runtime/services.ts";
import type { Ownership } from "../../store/replicas/ownership.ts";
import type { Store } from "../../store/store.ts";
import type { Sender, SendResult } from "../client/sender.ts";
import { nextStep } from "../retry.ts";
import { signedNoticeHeaders } from "./notice.ts";

/** How often it looks for what is due. */
const lookEveryMs = second;
/** After that another process sends what this one has begun to send. */
const leaseMs = minute;
/** Attempts that are under way at once. */
const atOnce = 4;
/** Notices in memory that the storage refuses, the newest. */
const maxUnstored = 100;

interface NotifierOptions {
  readonly store: Pick<Store, "notices">;
  readonly ownership: Pick<Ownership, "leads">;
  /** Apart from the one of deliveries: a notify URL that hangs takes nothing from them. */
  readonly sender: Pick<Sender, "send">;
  /** null: nothing is sent. */
  readonly url: string | null;
  /** The operator's `whsec_…`; null: only the platform's key signs. */
  readonly secret: string | null;
  readonly signingKey: KeyObject;
  readonly log: Log;
  readonly now: () => number;
  /** From 0 to 1, for the jitter of retries. */
  readonly random: () => number;
  /** Whether nothing is sent for now; by default it is. */
  readonly isHeld?: () => boolean;
}

interface Notifier extends Service {
  /**
   * Stores a notice and has it sent. What the storage refuses, as on a full disk, is sent from memory, and stored as
   * soon as that is possible. Never rejects.
   */
  announce(notice: NewNotice): Promise<void>;
}

/**
 * Sends notices to the operator's URL, signed like webhooks and repeated by the schedule of deliveries, each under one
 * id. A notice is sent again after a crash whose outcome was not stored yet.
 */
export function createNotifier(options: NotifierOptions): Notifier {
  const {
    store,
    ownership,
    sender,
    url,
    secret,
    signingKey,
    log,
    now,
    random,
    isHeld = () => false,
  } = options;
  /** Notices whose newest state is not stored yet, by id. */
  const unstored = new Map<string, NewNotice>();

  const keep = async (notice: NewNotice): Promise<void> => {
    unstored.set(notice.id, notice);
    try {
      await store.notices.put(notice);
      if (unstored.get(notice.id) === notice) unstored.delete(notice.id);
    } catch {
      // The storage reports by itself that it cannot be written.
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

  /** Claims the notices that are due in the store, except those that are sent from memory; none while the store fails. */
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
    // One process sends what is stored, by its clock; what could not be stored, only this one has.
    const stored = ownership.leads() ? await claimed(inMemory) : [];
    await Promise.all([...inMemory, ...stored].map((notice) => send(notice, url, signal)));
  };

  return {
    name: "notices",
    announce: keep,
    async run(signal) {
      while (!signal.aborted) {
        await round(signal);
        await pause(lookEveryMs, signal);
      }
    },
  };
}

/** What becomes of a notice after an attempt: it follows the rules of deliveries. */
function stateAfter(
  { sending, created_at }: NewNotice,
  sent: SendResult,
  { now, random }: { readonly now: number; readonly random: number },
): NoticeSending {
  const attempts = sending.attempts + 1;
  const expiresAt = created_at + noticeLimits.keepMs;
  // A URL that answers 410 may be mended: for the operator it is a failure like others.
  const outcome = { class: sent.class, status: null, retryAfterMs: sent.retryAfterMs };
  const decision = nextStep({ attempt: attempts, resumeAt: null, outcome, now, expiresAt, random });
  if (decision.kind === "delivered") {
    return { status: "delivered", attempts, next_attempt_at: null, error: null };
  }
  const isAgain = decision.kind === "retry";
  const next_attempt_at = decision.kind === "retry" ? decision.at : null;
  return { status: isAgain ? "pending" : "failed", attempts, next_attempt_at, error: sent.error };
}
