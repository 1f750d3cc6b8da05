import { sign } from "../../delivery/signature.ts";
import { second } from "../../domain/time.ts";
import { beginningOf } from "../../runtime/files.ts";
import { version } from "../../runtime/version.ts";
import { connectionFault } from "./http.ts";

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

/** Returns the hint after an answer 401. */
export function secretHint(isGiven: boolean): string {
  return isGiven
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
        "user-agent": `onair/${version}`,
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
