/** The result of an attempt. */

import type { Outcome } from "../retry.ts";
import type { SendFailure } from "./failures.ts";

/** Header names and values in the order of the response, names in lower case. */
export type ResponseHeaders = readonly (readonly [name: string, value: string])[];

/** The duration of each stage in milliseconds; null for a stage that was skipped or not completed. */
export interface Timings {
  readonly dnsMs: number | null;
  /** With an egress proxy: connecting to it, and its connecting to the receiver. */
  readonly connectMs: number | null;
  readonly tlsMs: number | null;
  /** From the open connection to the status. */
  readonly firstByteMs: number | null;
}

/** A completed stage of an attempt: one of its timings, or writing the request. */
export type PassedStage = keyof Timings | "sent";

export interface SendResult extends Outcome {
  /** From the call of `send` to the end, in whole milliseconds. */
  readonly durationMs: number;
  /** The beginning of the answer's body, decoded as UTF-8, with NUL replaced; "" if there was none. */
  readonly responseBody: string;
  /** The reason for the failure in one sentence for the endpoint's owner; null for a success. */
  readonly error: string | null;
  /** As in `SendFailure`. */
  readonly speaks?: "http" | "https";
  /** The answer's headers; absent unless the sender keeps them. */
  readonly headers?: ResponseHeaders;
  readonly timings: Timings;
  /** Whether the request was sent twice, because a reused connection had been closed by the receiver. */
  readonly repeated: boolean;
}

export const noTimings: Timings = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null };

/** The part of a result that depends on the status or on its absence. */
export type SendOutcome = Pick<SendResult, keyof Outcome | "error">;

/** The outcome of an attempt without a status. */
export function unanswered(failure: SendFailure): SendOutcome {
  return { ...failure, status: null, retryAfterMs: null };
}

/** The result of an attempt that made no request. */
export function unsent(failure: SendFailure): SendResult {
  return { ...unanswered(failure), durationMs: 0, responseBody: "", timings: noTimings, repeated: false };
}
