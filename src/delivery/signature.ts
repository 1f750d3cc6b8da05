/**
 * Signatures of the Standard Webhooks specification 1.0.0
 * (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md):
 * `v1` is HMAC-SHA256 with a secret that sender and receiver share, `v1a` is Ed25519 with the
 * platform's key. Both sign `<webhook-id>.<webhook-timestamp>.<body>`.
 */

import type { KeyObject } from "node:crypto";
import { type Recipient, webhookSecrets } from "../domain/applications.ts";
import type { DueDelivery, SentEvent } from "../domain/deliveries.ts";
import type { NewNotice } from "../domain/notices.ts";
import type { SendRequest } from "./send/send.ts";

/** The module is loaded on first use, because loading delays the start. */
const node = () => process.getBuiltinModule("node:crypto");

const secretPrefix = "whsec_";
const publicKeyPrefix = "whpk_";
const secretForm = /^whsec_[A-Za-z0-9+/]+={0,2}$/;

/** The shortest shared secret of the specification, in bytes. */
const minSecretBytes = 24;
/** The longest shared secret of the specification, in bytes. */
const maxSecretBytes = 64;

/** The most signatures of a delivery that are checked. */
const maxSignatures = 32;

/** The content that is signed. */
interface SignedContent {
  /** The `webhook-id`. */
  readonly id: string;
  /** Unix seconds of the attempt. */
  readonly timestampSeconds: number;
  /** The exact bytes that are sent. */
  readonly body: Uint8Array | string;
}

/**
 * Returns the value of `webhook-signature`: one `v1,…` per secret in the given order, then `v1a,…` if `ed25519` is
 * given, separated by spaces.
 *
 * @param input.secrets as {@link newWebhookSecret} makes them; more than one while a rotation overlaps
 * @param input.ed25519 from {@link readSigningKey}
 * @throws TypeError if the id contains a dot, which would make the signed content ambiguous, or a secret is malformed
 */
export function sign(
  input: SignedContent & { readonly secrets: readonly string[]; readonly ed25519?: KeyObject | undefined },
): string {
  if (input.id.includes(".")) throw new TypeError("a webhook id must not contain a dot");
  const content = joined(`${input.id}.${Math.floor(input.timestampSeconds)}.`, input.body);
  let value = "";
  for (const secret of input.secrets) {
    value += `${value === "" ? "" : " "}v1,${hmac(secret, content).digest("base64")}`;
  }
  if (input.ed25519 !== undefined) {
    const signature = node().sign(null, content, input.ed25519);
    value += `${value === "" ? "" : " "}v1a,${signature.toString("base64")}`;
  }
  return value;
}

/** The result of verification: `ok`, or the first problem, in the order in which they are checked. */
export type SignatureVerdict =
  | "ok"
  | "missing_header"
  | "bad_timestamp"
  | "timestamp_too_old"
  | "timestamp_too_new"
  | "no_matching_signature";

/** The largest difference between the timestamp and the current time. */
const toleranceSeconds = 300;

/**
 * Verifies a received delivery: whether it is genuine and recent. One matching signature is enough; signatures of
 * unknown versions are skipped. Signatures are compared in constant time.
 *
 * @param input.id the header `webhook-id`
 * @param input.timestamp the header `webhook-timestamp`
 * @param input.signature the header `webhook-signature`
 * @param input.body the bytes as received, before parsing
 * @param input.secret a `whsec_…`, to accept `v1`
 * @param input.publicKey from {@link readPublicKey}, to accept `v1a`
 * @param input.now milliseconds since the epoch
 * @throws TypeError if `secret` is malformed
 */
export function verify(input: {
  readonly id: string | null | undefined;
  readonly timestamp: string | null | undefined;
  readonly signature: string | null | undefined;
  readonly body: Uint8Array | string;
  readonly secret?: string | undefined;
  readonly publicKey?: KeyObject | undefined;
  readonly now: number;
}): SignatureVerdict {
  const { id, timestamp, signature, body, publicKey, now } = input;
  if (!id || !timestamp || !signature) return "missing_header";

  if (!/^[0-9]{1,15}$/.test(timestamp)) return "bad_timestamp";
  const age = Math.floor(now / 1_000) - Number(timestamp);
  if (age > toleranceSeconds) return "timestamp_too_old";
  if (age < -toleranceSeconds) return "timestamp_too_new";

  const content = joined(`${id}.${timestamp}.`, body);
  const expected = input.secret === undefined ? null : hmac(input.secret, content).digest();
  for (const entry of signature.split(" ", maxSignatures)) {
    const comma = entry.indexOf(",");
    const version = entry.slice(0, comma);
    const received = Buffer.from(entry.slice(comma + 1), "base64");
    if (version === "v1" && expected !== null && sameBytes(received, expected)) return "ok";
    if (version === "v1a" && publicKey !== undefined) {
      if (node().verify(null, content, publicKey, received)) return "ok";
    }
  }
  return "no_matching_signature";
}

/** Returns a new shared secret: `whsec_` and the base64 of 32 random bytes. */
export function newWebhookSecret(): string {
  return secretPrefix + Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64");
}

/** Whether a text has the form of a secret: `whsec_` and the base64 of 24 to 64 bytes. */
export function isWebhookSecret(value: string): boolean {
  return decodeSecret(value) !== null;
}

/** Returns a new platform key: an Ed25519 private key as PKCS #8 PEM (RFC 8410), which is secret. */
export function newSigningKey(): string {
  return node().generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();
}

/**
 * Reads a key made by {@link newSigningKey}. The result should be kept, because reading takes as long as signing.
 *
 * @throws TypeError if it is not an Ed25519 private key in PEM
 */
export function readSigningKey(privatePem: string): KeyObject {
  return ed25519Key(() => node().createPrivateKey(privatePem), "not an Ed25519 private key in PEM");
}

/** The platform's public key in both forms that receivers' libraries read. */
export interface PublicKeyForms {
  /** SubjectPublicKeyInfo PEM (RFC 8410). */
  readonly pem: string;
  /** `whpk_` and the base64 of the 32 bytes of the key, the form of Standard Webhooks. */
  readonly standardWebhooks: string;
}

/**
 * Returns the public key of the platform's private key.
 *
 * @throws TypeError if the text is not an Ed25519 private key in PEM
 */
export function publicKeyForms(privatePem: string): PublicKeyForms {
  const key = node().createPublicKey(readSigningKey(privatePem));
  const raw = Buffer.from(key.export({ format: "jwk" }).x ?? "", "base64url");
  return {
    pem: key.export({ type: "spki", format: "pem" }).toString(),
    standardWebhooks: publicKeyPrefix + raw.toString("base64"),
  };
}

/**
 * Reads a public key in either of {@link PublicKeyForms}.
 *
 * @throws TypeError if it has neither form
 */
export function readPublicKey(text: string): KeyObject {
  return ed25519Key(() => {
    if (!text.startsWith(publicKeyPrefix)) return node().createPublicKey(text);
    const x = Buffer.from(text.slice(publicKeyPrefix.length), "base64").toString("base64url");
    return node().createPublicKey({ format: "jwk", key: { kty: "OKP", crv: "Ed25519", x } });
  }, "not an Ed25519 public key as PEM or whpk_");
}

function ed25519Key(read: () => KeyObject, complaint: string): KeyObject {
  let key: KeyObject;
  try {
    key = read();
  } catch {
    throw new TypeError(complaint);
  }
  if (key.asymmetricKeyType !== "ed25519") throw new TypeError(complaint);
  return key;
}

/** Joins the signed content into one buffer, which Ed25519 needs. */
function joined(head: string, body: Uint8Array | string): Uint8Array {
  return Buffer.concat([Buffer.from(head), typeof body === "string" ? Buffer.from(body) : body]);
}

// Bun's own hasher is faster than `createHmac` of node:crypto. The secret is decoded for each signature: a cache of
// secrets would cost more than it saves.
function hmac(secret: string, content: Uint8Array): Bun.CryptoHasher {
  const key = decodeSecret(secret);
  if (key === null) throw new TypeError("not a webhook secret");
  return new Bun.CryptoHasher("sha256", key).update(content);
}

function decodeSecret(secret: string): Buffer | null {
  if (!secretForm.test(secret)) return null;
  const key = Buffer.from(secret.slice(secretPrefix.length), "base64");
  return key.length >= minSecretBytes && key.length <= maxSecretBytes ? key : null;
}

function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && crypto.timingSafeEqual(left, right);
}

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

/** Returns the headers of an attempt that begins at `now`, signed, without the application's own headers. */
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

/** Returns the headers of a notice sent at `now`, signed like a webhook with these secrets and the platform's key. */
export function signedNoticeHeaders(
  { id, type, body: text }: NewNotice,
  secrets: readonly string[],
  signingKey: KeyObject,
  now: number,
): Record<string, string> {
  const timestampSeconds = Math.floor(now / 1000);
  const signed = { id, timestampSeconds, body: Buffer.from(text), secrets, ed25519: signingKey };
  return {
    "webhook-id": id,
    "webhook-timestamp": String(timestampSeconds),
    "onair-event-type": type,
    "onair-event-version": "1",
    "onair-event-id": id,
    "webhook-signature": sign(signed),
  };
}
