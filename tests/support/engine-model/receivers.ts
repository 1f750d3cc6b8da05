import type { SendRequest, SendResult } from "../../../src/delivery/send/send.ts";
import { attemptTimeoutMs } from "../../../src/delivery/send/send.ts";
import { hour } from "../../../src/domain/time.ts";
import type { Timers } from "../../../src/runtime/event-loop.ts";
import { ok } from "../dispatching.ts";

/**
 * What a receiver answers. A slow one answers when it is told to, or the attempt times out. "ok from 4" takes a delivery
 * at its fourth attempt, and answers 400 before.
 */
export const answers = [
  "ok",
  "400",
  "410",
  "429",
  "500 for an hour",
  "503",
  "reset",
  "slow",
  "ok from 2",
  "ok from 4",
] as const;
export type Answer = (typeof answers)[number];

/** The `Retry-After` of answers. A 500 with one asks it for its own delivery, and not for the whole endpoint. */
const retryAfterMs: Partial<Record<Answer, number>> = { "429": 20_000, "500 for an hour": hour };

/** One attempt as the receiver's side sees it. */
export interface SeenAttempt {
  readonly id: string;
  readonly subscription: string;
  readonly sequence: number;
  readonly event: string;
  readonly number: number;
  readonly url: string;
  readonly request: SendRequest;
  /** Counts all attempts of a run. */
  readonly index: number;
  readonly startedAt: number;
  isWritten: boolean;
}

/** Sees what is sent, and may object. */
interface Observer {
  started(attempt: SeenAttempt): void;
  written(attempt: SeenAttempt): void;
  ended(attempt: SeenAttempt, result: SendResult): void;
}

interface UnderWay {
  readonly seen: SeenAttempt;
  write(): void;
  end(result: SendResult): void;
}

/** The receivers of all applications, in place of the sender, by the host of their URL. */
export class Receivers {
  readonly #answers = new Map<string, Answer>();
  readonly #unreachable = new Set<string>();
  readonly #underWay = new Set<UnderWay>();
  #count = 0;

  constructor(
    readonly observer: Observer,
    readonly elapsed: () => number,
    readonly timers: Timers,
  ) {}

  /** What it has been sent already and not answered is answered so, too. */
  answer(host: string, answer: Answer): void {
    this.#answers.set(host, answer);
    for (const one of this.#of(host))
      if (one.seen.isWritten && answer !== "slow") one.end(resultOf(answer, one.seen));
  }

  /** Answers the first of what waits for an answer; the receiver stays as it is. */
  answerOne(host: string, answer: Answer): void {
    const one = this.#of(host).find(({ seen }) => seen.isWritten);
    if (one && answer !== "slow") one.end(resultOf(answer, one.seen));
  }

  /** Connections to it are being made until it is reachable. */
  setReachable(host: string, isReachable: boolean): void {
    if (!isReachable) this.#unreachable.add(host);
    else {
      this.#unreachable.delete(host);
      for (const one of this.#of(host)) if (!one.seen.isWritten) one.write();
    }
  }

  /** All are reachable and take deliveries, some only at a later attempt. */
  allWell(): void {
    for (const host of this.#unreachable) this.setReachable(host, true);
    for (const [host, answer] of this.#answers) if (!answer.startsWith("ok")) this.answer(host, "ok");
  }

  /** Whether each attempt is answered at once by a 2xx. */
  isWell(host: string): boolean {
    return !this.#unreachable.has(host) && (this.#answers.get(host) ?? "ok") === "ok";
  }

  #of(host: string): UnderWay[] {
    return [...this.#underWay].filter(({ seen }) => new URL(seen.url).host === host);
  }

  /** The sender of one process. */
  sender() {
    const own = new Set<UnderWay>();
    let isClosed = false;
    const send = (request: SendRequest): Promise<SendResult> => {
      if (isClosed || request.mayBeSent?.() === false) return Promise.resolve(resultOf("canceled"));
      const seen = seenAttempt(request, this.#count++, this.elapsed());
      const { promise, resolve } = Promise.withResolvers<SendResult>();
      const { host } = new URL(seen.url);
      const one: UnderWay = {
        seen,
        write: () => {
          if (request.mayBeSent?.() === false) return one.end(resultOf("canceled"));
          seen.isWritten = true;
          this.observer.written(seen);
          const answer = this.#answers.get(host) ?? "ok";
          // No answer comes before the engine has done its step.
          if (answer !== "slow") setImmediate(() => one.end(resultOf(answer, seen)));
        },
        end: (result) => {
          if (!own.delete(one)) return;
          this.#underWay.delete(one);
          cancelTimeout();
          this.observer.ended(seen, result);
          resolve(result);
        },
      };
      const cancelTimeout = this.timers.after(attemptTimeoutMs, () => one.end(resultOf("timeout")));
      own.add(one);
      this.#underWay.add(one);
      this.observer.started(seen);
      if (this.#unreachable.has(host))
        request.connecting?.(() => seen.isWritten || one.end(resultOf("canceled")));
      else one.write();
      return promise;
    };
    return {
      send,
      /** Ends what is under way, as a process does that stops. */
      close: () => {
        isClosed = true;
        for (const one of [...own]) one.end(resultOf("canceled"));
      },
      /** Nothing comes back to a process that was killed. */
      die: () => {
        isClosed = true;
        for (const one of own) this.#underWay.delete(one);
        own.clear();
      },
    };
  }
}

function seenAttempt(request: SendRequest, index: number, startedAt: number): SeenAttempt {
  const header = (name: string) => request.headers[name] ?? "";
  return {
    id: header("webhook-id"),
    subscription: header("onair-subscription-id"),
    sequence: Number(header("onair-sequence")),
    event: header("onair-event-id"),
    number: Number(header("onair-attempt")),
    url: request.url,
    request,
    index,
    startedAt,
    isWritten: false,
  };
}

function resultOf(
  answer: Answer | "timeout" | "canceled",
  attempt?: Pick<SeenAttempt, "number">,
): SendResult {
  if (answer === "ok") return ok;
  const takenAt = /^ok from (\d)$/.exec(answer)?.[1];
  if (takenAt) return resultOf((attempt?.number ?? 0) < Number(takenAt) ? "400" : "ok");
  if (answer === "reset" || answer === "timeout" || answer === "canceled")
    return { ...ok, class: answer, status: null, error: answer };
  const asked = retryAfterMs[answer] ?? null;
  return { ...ok, class: "status", status: Number.parseInt(answer, 10), error: answer, retryAfterMs: asked };
}
