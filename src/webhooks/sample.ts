import type { KeyObject } from "node:crypto";
import type { Application } from "../domain/applications.ts";
import { newId } from "../domain/ids.ts";
import { isoTime } from "../domain/time.ts";
import { requestOf } from "./attempt.ts";
import type { Sender, SendResult } from "./sender.ts";

/** What a sample is made of: an event type and a payload of it. */
export interface Sample {
  readonly name: string;
  readonly version: number;
  readonly data: unknown;
}

/** A sample that was sent, as it went over the wire, without its signature. */
export interface SampleExchange {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly result: SendResult;
}

/**
 * Sends a sample event to an application's webhook, made and signed like a delivery, but of no subscription and kept
 * nowhere; `Onair-Test` marks it.
 */
export async function sendSample(
  { sender, signingKey, now }: { sender: Pick<Sender, "send">; signingKey: KeyObject; now: number },
  application: Application,
  { name, version, data }: Sample,
  signal: AbortSignal,
): Promise<SampleExchange> {
  const body = JSON.stringify({ type: name, version, timestamp: isoTime(now), data });
  const event = { id: newId(), name, version, body: Buffer.from(body) };
  const { url, ...request } = requestOf(
    {
      seq: 0,
      id: newId(),
      application_id: application.id,
      subscription_id: newId(),
      isWanted: true,
      sequence: 0,
      attempts: 0,
      expires_at: null,
      event,
    },
    application,
    signingKey,
    now,
  );
  const headers: Record<string, string> = { ...request.headers, "onair-test": "true" };
  const result = await sender.send({ url, headers, body: request.body }, signal);
  const { "webhook-signature": _, ...unsigned } = headers;
  return { url, headers: { "content-type": "application/json", ...unsigned }, body, result };
}
