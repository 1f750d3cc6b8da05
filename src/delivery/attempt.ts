import type { KeyObject } from "node:crypto";
import { type Recipient, webhookSecrets } from "../domain/applications.ts";
import type { DueDelivery, SentEvent } from "../domain/deliveries.ts";
import type { SendRequest } from "./send/send.ts";
import { sign } from "./signature.ts";

/** The part of a delivery that is signed or sent in headers. Its body is bytes or text. */
type SignedDelivery<Body> = Pick<DueDelivery, "id" | "subscription_id" | "sequence" | "attempts"> & {
  readonly event: Omit<SentEvent, "body"> & { readonly body: Body };
};

/**
 * Returns the request of an attempt that begins at `now`, with the application's own headers, signed with its secrets
 * and, if given, the platform's key.
 */
export function signedRequest(
  delivery: SignedDelivery<Uint8Array>,
  recipient: Recipient,
  signingKey: KeyObject | null,
  now: number,
): SendRequest & { readonly headers: Record<string, string> } {
  const headers = signedHeaders(delivery, recipient, signingKey, now);
  for (const { name, value } of recipient.webhook_headers) headers[name] = value;
  return { url: recipient.webhook_url ?? "", body: delivery.event.body, headers };
}

/** Returns the headers of that request, without the application's own. */
export function signedHeaders(
  delivery: SignedDelivery<Uint8Array | string>,
  recipient: Recipient,
  signingKey: KeyObject | null,
  now: number,
): Record<string, string> {
  const { id, event, subscription_id, sequence } = delivery;
  const { body } = event;
  const timestampSeconds = Math.floor(now / 1000);
  const secrets = webhookSecrets(recipient, now);
  const described = { id, event, subscription_id, sequence, attempt: delivery.attempts + 1 };
  return {
    ...unsignedHeaders(described, now),
    "webhook-signature": sign({ id, timestampSeconds, body, secrets, ed25519: signingKey ?? undefined }),
  };
}

/** The part of a delivery that its headers contain. */
interface DescribedDelivery {
  readonly id: string;
  readonly event: { readonly id: string; readonly name: string; readonly version: number };
  readonly subscription_id: string;
  readonly sequence: number;
  /** Counts from 1. */
  readonly attempt: number;
}

/** Returns the headers of an attempt that began at `at`, without the signature. */
export function unsignedHeaders(
  { id, event, subscription_id, sequence, attempt }: DescribedDelivery,
  at: number,
) {
  return {
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(at / 1000)),
    "onair-event-type": event.name,
    "onair-event-version": String(event.version),
    "onair-event-id": event.id,
    "onair-subscription-id": subscription_id,
    "onair-sequence": String(sequence),
    "onair-attempt": String(attempt),
  };
}
