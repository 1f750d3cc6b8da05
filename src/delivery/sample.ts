import type { KeyObject } from "node:crypto";
import type { Application } from "../domain/applications.ts";
import { newId } from "../domain/ids.ts";
import { isoTime } from "../domain/time.ts";
import { maskedWebhookHeaders } from "../domain/webhook-headers.ts";
import { keptBytes, type PassedStage, type Sender, type SendResult } from "./send/send.ts";
import { secretsSent, shownHeaders, withoutSecrets } from "./shown-response.ts";
import { signedRequest } from "./signature.ts";

/** A sample event: an event type and a payload for it. */
export interface Sample {
  readonly name: string;
  readonly version: number;
  readonly data: unknown;
  /**
   * Whether the application supplied the payload. Then the platform's key does not sign it: the request could be
   * forwarded to another application that verifies with this key alone, and would take it for an event of the platform.
   */
  readonly isOwn: boolean;
}

/** A request as it is sent, without its signature, and with masked values of the application's own headers. */
export interface UnsignedRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The progress of a sample: the request, then each completed stage with the milliseconds since the start. */
export type SampleStep =
  | { readonly request: UnsignedRequest }
  | { readonly stage: PassedStage; readonly atMs: number };

export type WatchSample = (step: SampleStep) => void;

/** A sample that was sent. */
export interface SampleExchange extends UnsignedRequest {
  readonly result: SendResult;
  /** The answer, to be shown to the receiver's developer; its status is null if none arrived. */
  readonly answer: SampleResponse;
}

interface SampleResponse {
  readonly status: number | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * The beginning of a sample's `webhook-id`. Unlike `Onair-Test` it is signed, because a sample has the platform's
 * signature and could otherwise be passed on as an event.
 */
const sampleIdPrefix = "test_";

/** Bytes kept beyond those shown, so that a secret that crosses the limit is recognised and replaced. */
const secretBytes = 1_024;

/** The options with which a sender of samples must be made. */
export const sampleLimits = { keepBytes: keptBytes + secretBytes, keepHeaders: "always" } as const;

/** Dependencies of sending a sample. */
interface SampleSender {
  /** A sender that was made with `sampleLimits`. */
  readonly sender: Pick<Sender, "send">;
  readonly signingKey: KeyObject;
  readonly now: number;
  /** Whether the sender uses an egress proxy. */
  readonly isProxied: boolean;
  readonly watch?: WatchSample | undefined;
}

/** Returns at most `most` bytes of a text, without cutting a character. */
function firstBytes(text: string, most: number): string {
  const bytes = Buffer.from(text);
  return bytes.length <= most ? text : new TextDecoder().decode(bytes.subarray(0, most), { stream: true });
}

/**
 * Sends a sample event to an application's webhook. It is made and signed like a delivery, but its `webhook-id`
 * begins with `test_`, and it has the header `Onair-Test`. It belongs to no subscription and is not stored.
 */
export async function sendSample(
  { sender, signingKey, now, isProxied, watch }: SampleSender,
  application: Application,
  { name, version, data, isOwn }: Sample,
  signal: AbortSignal,
): Promise<SampleExchange> {
  const body = JSON.stringify({ type: name, version, timestamp: isoTime(now), data });
  const event = { id: newId(), name, version, body: Buffer.from(body) };
  const delivery = {
    id: sampleIdPrefix + newId(),
    subscription_id: newId(),
    sequence: 0,
    attempts: 0,
    event,
  };
  const { url, ...request } = signedRequest(delivery, application, isOwn ? null : signingKey, now);
  const headers: Record<string, string> = { ...request.headers, "onair-test": "true" };
  const { "webhook-signature": signature = "", ...unsigned } = headers;
  const { webhook_headers } = application;
  const masked = {
    "content-type": "application/json",
    ...unsigned,
    ...maskedWebhookHeaders(webhook_headers),
  };
  const sent = { url, headers: masked, body };
  const secrets = secretsSent(signature, webhook_headers);
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
    headers: shownHeaders(result.headers ?? [], secrets, isProxied && url.startsWith("http:")),
    body: firstBytes(withoutSecrets(result.responseBody, secrets), keptBytes),
  };
  return { ...sent, result, answer };
}
