import type { KeyObject } from "node:crypto";
import type { Application } from "../domain/applications.ts";
import { newId } from "../domain/ids.ts";
import { isoTime } from "../domain/time.ts";
import { signedRequest } from "./attempt.ts";
import { keptBytes, type PassedStage, type Sender, type SendResult } from "./client/sender.ts";
import { shownHeaders, withoutSignature } from "./shown-answer.ts";

/** What a sample is made of: an event type and a payload of it. */
export interface Sample {
  readonly name: string;
  readonly version: number;
  readonly data: unknown;
  /**
   * Whether the application has chosen the payload. Then the platform's key does not sign it: the request could be passed
   * on to another application, which verifies with that key alone and would take it for an event of the platform.
   */
  readonly isOwn: boolean;
}

/** A request as it goes over the wire, without its signature. */
export interface UnsignedRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** How far a sample has come: what is sent, then each stage that is completed, by the milliseconds since the begin. */
export type SampleStep =
  | { readonly request: UnsignedRequest }
  | { readonly stage: PassedStage; readonly atMs: number };

export type WatchSample = (step: SampleStep) => void;

/** A sample that was sent. */
export interface SampleExchange extends UnsignedRequest {
  readonly result: SendResult;
  /** What came back, for the receiver's developer; its status is null where no answer arrived. */
  readonly answer: SampleAnswer;
}

interface SampleAnswer {
  readonly status: number | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Room for the end of a signature that the answer repeats, so that it is recognised as one. */
const signatureBytes = 1_024;

/** What the sender of a sample hands back of an answer. */
export const sampleLimits = { keepBytes: keptBytes + signatureBytes, keepHeaders: true } as const;

/** What a sample is sent by. */
interface SampleSender {
  /** Made with `sampleLimits`. */
  readonly sender: Pick<Sender, "send">;
  readonly signingKey: KeyObject;
  readonly now: number;
  /** Whether it sends through an egress proxy. */
  readonly isProxied: boolean;
  readonly watch?: WatchSample | undefined;
}

/** The beginning of a text, without a character that is cut in two. */
function firstBytes(text: string, most: number): string {
  const bytes = Buffer.from(text);
  return bytes.length <= most ? text : new TextDecoder().decode(bytes.subarray(0, most), { stream: true });
}

/**
 * Sends a sample event to an application's webhook, made and signed like a delivery, but of no subscription and kept
 * nowhere; `Onair-Test` marks it.
 */
export async function sendSample(
  { sender, signingKey, now, isProxied, watch }: SampleSender,
  application: Application,
  { name, version, data, isOwn }: Sample,
  signal: AbortSignal,
): Promise<SampleExchange> {
  const body = JSON.stringify({ type: name, version, timestamp: isoTime(now), data });
  const event = { id: newId(), name, version, body: Buffer.from(body) };
  const delivery = { id: newId(), subscription_id: newId(), sequence: 0, attempts: 0, event };
  const { url, ...request } = signedRequest(delivery, application, isOwn ? null : signingKey, now);
  const headers: Record<string, string> = { ...request.headers, "onair-test": "true" };
  const { "webhook-signature": signature = "", ...unsigned } = headers;
  const sent = { url, headers: { "content-type": "application/json", ...unsigned }, body };
  watch?.({ request: sent });
  const toSend = {
    url,
    headers,
    body: request.body,
    watch: watch && ((stage: PassedStage, atMs: number) => watch({ stage, atMs })),
  };
  const result = await sender.send(toSend, signal);
  const answer = {
    status: result.status,
    headers: shownHeaders(result.headers ?? [], signature, isProxied && url.startsWith("http:")),
    body: firstBytes(withoutSignature(result.responseBody, signature), keptBytes),
  };
  return { ...sent, result, answer };
}
