/** The result of an attempt. */

import type { Outcome } from "../retry.ts";
import type { SendFailure } from "./failures.ts";

/** Header names and values in the order of the response, names in lower case. */
export type ResponseHeaders = readonly (readonly [name: string, value: string])[];

/** How long each stage took, in milliseconds; null for one that was not needed or not completed. */
export interface Timings {
  readonly dnsMs: number | null;
  /** With an egress proxy: to it, and from it to the receiver. */
  readonly connectMs: number | null;
  readonly tlsMs: number | null;
  /** From the connection being ready to the status. */
  readonly firstByteMs: number | null;
}

/** A stage that an attempt has completed: of its timings, or writing the request. */
export type PassedStage = keyof Timings | "sent";

export interface SendResult extends Outcome {
  /** From the call to the end, in whole milliseconds. */
  readonly durationMs: number;
  /** The beginning of the answer's body, read as UTF-8, NUL replaced; "" when there was none. */
  readonly responseBody: string;
  /** Why it was no success, in one sentence for the endpoint's owner; null when it was one. */
  readonly error: string | null;
  /** As in `SendFailure`. */
  readonly speaks?: "http" | "https";
  /** The answer's headers as the receiver sent them; absent unless the sender keeps them. */
  readonly headers?: ResponseHeaders;
  readonly timings: Timings;
  /** Whether a kept connection turned out to be closed, so that the request was made twice. */
  readonly repeated: boolean;
}

export const noTimings: Timings = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null };

/** The part of a result that is decided by the status, or by its absence. */
export type SendOutcome = Pick<SendResult, keyof Outcome | "error">;

export function unanswered(failure: SendFailure): SendOutcome {
  return { ...failure, status: null, retryAfterMs: null };
}

/** The result of an attempt of which no request was made. */
export function unsent(failure: SendFailure): SendResult {
  return { ...unanswered(failure), durationMs: 0, responseBody: "", timings: noTimings, repeated: false };
}
