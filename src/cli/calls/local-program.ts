import { diagnose } from "../../delivery/diagnosis.ts";
import { isWebhookSecret, newWebhookSecret, sign, unsignedHeaders } from "../../delivery/signature.ts";
import { newId } from "../../domain/ids.ts";
import { isoTime, minute, second } from "../../domain/time.ts";
import { beginningOf } from "../../runtime/files.ts";
import { escaped, printable } from "../../runtime/terminal.ts";
import { version as programVersion } from "../../runtime/version.ts";
import type { Environment } from "../../server/settings/read-config.ts";
import type { Output } from "../output/output.ts";
import { note, type Screen, table } from "../output/print.ts";
import type { Delivery } from "./deliveries.ts";
import { connectionFault } from "./http.ts";

/*
 * Webhooks that a command sends to a program on this machine: deliveries of the platform, and samples that check it.
 */

/** A delivery of the event stream. */
export interface ReceivedDelivery {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The answer of the local program to a delivery. */
export interface Forwarded {
  /** The HTTP status; null without an answer. */
  readonly status: number | null;
  readonly durationMs: number;
  /** The first bytes of the answer, or the reason for a missing answer. */
  readonly answer: string;
}

/**
 * Reads the secret that signs webhooks to a local program: `--secret`, else `ONAIR_WEBHOOK_SECRET`; undefined without
 * one. Adds a mistake for an invalid one.
 */
export function readSigningSecret(
  option: string | undefined,
  env: Environment,
  mistakes: string[],
): string | undefined {
  const secret = option ?? (env["ONAIR_WEBHOOK_SECRET"] || undefined);
  if (secret !== undefined && !isWebhookSecret(secret))
    mistakes.push("--secret must be whsec_ and 24 to 64 bytes in base64");
  return secret;
}

/**
 * Returns the secret that signs forwarded webhooks: the user's own, else that of the profile, else a new one. `tell`
 * shows a secret that is not the user's own.
 */
export function forwardingSecret(
  url: string,
  {
    ownSecret,
    keptSecret,
    tell,
  }: Pick<Forwarding, "ownSecret" | "keptSecret"> & { tell(sentence: string): void },
): string {
  if (ownSecret !== undefined) return ownSecret;
  const kept = keptSecret();
  const secret = kept ?? newWebhookSecret();
  const whose = kept === null ? "made for this run" : "kept for the profile";
  tell(`Forwarding to ${url}, signed with ${secret} (${whose})`);
  return secret;
}

/** Returns the hint after an answer 401. */
export function secretHint(isOwn: boolean): string {
  return isOwn
    ? "It probably verifies with another secret than --secret."
    : "It probably verifies with another secret. Give it the one shown above, or pass its own as --secret.";
}

/** The time limit of a webhook. */
const timeoutMs = 15 * second;
const shownBytes = 1024;

/**
 * Sends a delivery to a local program as a webhook. The `v1` signature is made with `secret`; the platform's `v1a`
 * signature stays valid, because id, time and body are unchanged.
 */
export async function forward(
  { headers, body }: ReceivedDelivery,
  { url, secret, signal }: { readonly url: string; readonly secret: string; readonly signal: AbortSignal },
): Promise<Forwarded> {
  const startedAt = performance.now();
  const since = () => Math.round(performance.now() - startedAt);
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: {
        ...headers,
        "content-type": "application/json",
        "user-agent": `onair/${programVersion}`,
        "webhook-signature": localSignature({ headers, body }, secret),
      },
      body,
      redirect: "manual",
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    const answer = new TextDecoder().decode(await beginningOf(response.body, shownBytes));
    return { status: response.status, durationMs: since(), answer };
  } catch (error) {
    const isLate = error instanceof Error && error.name === "TimeoutError";
    const answer = isLate ? "no answer within 15 seconds" : connectionFault(error);
    return { status: null, durationMs: since(), answer };
  }
}

function localSignature({ headers, body }: ReceivedDelivery, secret: string): string {
  const platform = (headers["webhook-signature"] ?? "").split(" ").filter((one) => one.startsWith("v1a,"));
  const id = headers["webhook-id"] ?? "";
  const own = sign({ id, timestampSeconds: Number(headers["webhook-timestamp"]), body, secrets: [secret] });
  return [own, ...platform].join(" ");
}

interface Forwarding {
  readonly url: string;
  readonly ownSecret: string | undefined;
  keptSecret(): string | null;
  readonly out: Output;
}

/** Sends a delivery to a local program, and prints the answer. Returns whether it was accepted. */
export async function forwardAgain(
  delivery: Delivery,
  { url, ownSecret, keptSecret, out }: Forwarding,
): Promise<boolean> {
  const { id, request } = delivery;
  if (!request) throw new Error(`The delivery ${id} has no request`);
  const { body } = request;
  if (body === null) throw new Error(`The body of the delivery ${id} is no longer kept`);
  const secret = forwardingSecret(url, { ownSecret, keptSecret, tell: note });
  // Each attempt has a time and signatures of its own; a receiver refuses old ones.
  const { "webhook-signature": _, ...unsigned } = request.headers;
  const headers = { ...unsigned, "webhook-timestamp": String(Math.floor(Date.now() / 1000)) };
  const { signal } = new AbortController();
  const answer = await forward({ headers, body }, { url, secret, signal });
  const { status, durationMs, answer: text } = answer;
  await out.answer(
    { ...delivery, forwarded: { status, duration_ms: durationMs, answer: text } },
    `${id} → ${answered(answer)}${status === null || text === "" ? "" : `: ${printable(text).trim()}`}`,
  );
  if (status === 401) note(secretHint(ownSecret !== undefined));
  return isAccepted(answer);
}

/** An event to send to a receiver. */
interface SampleEvent {
  readonly name: string;
  readonly version: number;
  readonly data: unknown;
}

interface ReceiverOptions {
  readonly url: string;
  readonly secret: string;
  readonly out: Output;
}

/** The result of one request of the check. */
interface Checked {
  readonly check: "right_signature" | "wrong_signature" | "old_timestamp" | "same_id_again" | "slow_answer";
  readonly ok: boolean;
  /** The HTTP status; null without an answer. */
  readonly status: number | null;
  readonly duration_ms: number;
  /** The beginning of the answer, or the reason for a missing answer. */
  readonly answer: string;
  readonly should: string;
}

const oldMs = 10 * minute;

const isAccepted = ({ status }: Pick<Forwarded, "status">) =>
  status !== null && status >= 200 && status < 300;
/** A 5xx answer is a failure of the receiver, not a refusal. */
const isRefused = ({ status }: Forwarded) => status !== null && status >= 400 && status < 500;

/** Sends one signed sample and prints the answer. Returns whether it was accepted. */
export async function sendSample(sample: SampleEvent, options: ReceiverOptions): Promise<boolean> {
  const answer = await sender(sample, options)({});
  const { status, durationMs, answer: text } = answer;
  await options.out.answer(
    { status, duration_ms: durationMs, answer: text },
    `${answered(answer)}${text === "" || status === null ? "" : `: ${escaped(text)}`}`,
  );
  const problem = problemOf(answer, options.url);
  if (problem !== null) note(problem);
  return isAccepted(answer);
}

/**
 * Sends a signed sample to a receiver, then requests that the receiver must refuse, and a repetition that it must
 * recognise. Prints the answers. Returns whether all answers are correct. Stops after the first request if the receiver
 * does not accept it.
 */
export async function checkReceiver(sample: SampleEvent, options: ReceiverOptions): Promise<boolean> {
  const send = sender(sample, options);
  const id = newId();
  const first = await send({ id });
  const answers = [first];
  const results = [resultOf("right_signature", first, isAccepted(first), "be accepted, with 2xx")];
  if (isAccepted(first)) {
    const forged = await send({ secret: newWebhookSecret() });
    const old = await send({ ageMs: oldMs });
    const again = await send({ id, attempt: 2 });
    answers.push(forged, old, again);
    results.push(
      resultOf("wrong_signature", forged, isRefused(forged), "be refused, with 401: its signature is wrong"),
      resultOf("old_timestamp", old, isRefused(old), "be refused, with 401: it was signed ten minutes ago"),
      resultOf("same_id_again", again, isAccepted(again), "be accepted, and do nothing a second time"),
    );
  }
  const slowest = answers.reduce((a, b) => (b.durationMs > a.durationMs ? b : a));
  const isInTime = answers.every(({ durationMs }) => durationMs < timeoutMs);
  // Without any answer, there is no slowest one.
  if (!isInTime || answers.some(({ status }) => status !== null))
    results.push(resultOf("slow_answer", slowest, isInTime, "come within 15 seconds, better at once"));
  const ok = results.every((one) => one.ok);
  const { name: type, version } = sample;
  const { url, out } = options;
  await out.answer(
    { type, version, url, ok, checks: results },
    `${type} to ${url}\n\n${tableOf(results, out.screen)}`,
  );
  if (!out.json) note(`\n${conclusion(first, slowest, results, url)}`);
  return ok;
}

/** The difference between a request of the check and a genuine request sent now. */
interface Difference {
  readonly id?: string;
  readonly attempt?: number;
  readonly secret?: string;
  readonly ageMs?: number;
}

function sender({ name, version, data }: SampleEvent, { url, secret: right }: ReceiverOptions) {
  const { signal } = new AbortController();
  const event = { id: newId(), name, version };
  const subscription_id = newId();
  const body = JSON.stringify({ type: name, version, timestamp: isoTime(Date.now()), data });
  let sequence = 0;
  return ({ id = newId(), attempt = 1, secret = right, ageMs = 0 }: Difference): Promise<Forwarded> => {
    if (attempt === 1) sequence++;
    const delivery = { id, event, subscription_id, sequence, attempt };
    const headers = { ...unsignedHeaders(delivery, Date.now() - ageMs), "onair-test": "true" };
    return forward({ headers, body }, { url, secret, signal });
  };
}

const resultOf = (
  check: Checked["check"],
  { status, durationMs, answer }: Forwarded,
  ok: boolean,
  should: string,
): Checked => ({ check, ok, status, duration_ms: durationMs, answer, should: `It should ${should}.` });

const answered = ({ status, durationMs, answer }: Pick<Forwarded, "status" | "durationMs" | "answer">) =>
  status === null ? answer : `${status} in ${durationMs} ms`;

const titles: Readonly<Record<Checked["check"], string>> = {
  right_signature: "right signature",
  wrong_signature: "wrong signature",
  old_timestamp: "old timestamp",
  same_id_again: "same id again",
  slow_answer: "slowest answer",
};

function tableOf(results: readonly Checked[], on: Screen): string {
  const rows = results.map(({ check, ok, status, duration_ms: durationMs, answer, should }) => {
    const what = check === "slow_answer" ? `${durationMs} ms` : answered({ status, durationMs, answer });
    return [ok ? "ok" : "failed", titles[check], what, should];
  });
  // This table is not cut to the terminal, so that the advice stays complete.
  return table(["STATE", "SENT", "ANSWER", "EXPECTED"], rows, { ...on, columns: null });
}

function conclusion(first: Forwarded, slowest: Forwarded, results: readonly Checked[], url: string): string {
  if (!isAccepted(first)) return problemOf(first, url) ?? "The receiver does not accept a genuine webhook.";
  const failed = results.filter(({ ok }) => !ok);
  const notRefused = failed.filter(({ check }) => check === "wrong_signature" || check === "old_timestamp");
  if (notRefused.some(isAccepted))
    return "The receiver accepts forged or old requests. Verify the signature and the timestamp of every request, over the body as it arrived: a Standard Webhooks library does both.";
  if (notRefused.length > 0) return "The receiver fails at forged or old requests. Answer them with 401.";
  if (failed.some(({ check }) => check === "same_id_again"))
    return "The receiver does not accept the same id again. Answer 2xx and do nothing: a refused delivery is sent again and again.";
  const lateness = isAccepted(slowest) ? problemOf(slowest, url) : null;
  if (lateness !== null) return lateness;
  if (failed.length > 0) return "The receiver does not behave as it should.";
  return "The receiver behaves as it should. Check in its own log that it did nothing for the same id the second time.";
}

/** Returns what the receiver did wrong with a genuine delivery; null for nothing. */
function problemOf({ status, durationMs, answer }: Forwarded, url: string): string | null {
  if (status === null) return durationMs >= timeoutMs ? "Answer first, and do the work afterwards." : null;
  const outcome = status >= 200 && status < 300 ? "ok" : "status";
  return diagnose({
    class: outcome,
    status,
    durationMs,
    responseBody: answer,
    timings: { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null },
    url,
    location: null,
  });
}
