import { second } from "../../domain/time.ts";
import { version } from "../../version.ts";
import { sign } from "../../webhooks/signature.ts";
import { connectionFault } from "./faults.ts";

/** A delivery as the event stream gives it. */
export interface StreamedDelivery {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What the local program said to a delivery. */
export interface Forwarded {
  /** null where there was no answer. */
  readonly status: number | null;
  readonly durationMs: number;
  /** The first bytes of its answer, or why there was none. */
  readonly answer: string;
}

/** As long as a webhook may take. */
const timeoutMs = 15 * second;
const shownBytes = 1024;

/**
 * Sends a delivery to a local program as its webhook would have come. `v1` is made anew with a secret of this program's
 * choice; `v1a`, the platform's own, stays as it was and holds still, because id, time and body are the same.
 */
export async function forward(
  { headers, body }: StreamedDelivery,
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
    const answer = await beginning(response);
    return { status: response.status, durationMs: since(), answer };
  } catch (error) {
    const isLate = error instanceof Error && error.name === "TimeoutError";
    const answer = isLate ? "no answer within 15 seconds" : connectionFault(error);
    return { status: null, durationMs: since(), answer };
  }
}

function localSignature({ headers, body }: StreamedDelivery, secret: string): string {
  const platform = (headers["webhook-signature"] ?? "").split(" ").filter((one) => one.startsWith("v1a,"));
  const id = headers["webhook-id"] ?? "";
  const own = sign({ id, timestampSeconds: Number(headers["webhook-timestamp"]), body, secrets: [secret] });
  return [own, ...platform].join(" ");
}

async function beginning(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  const parts: Uint8Array[] = [];
  for (let bytes = 0; reader && bytes < shownBytes; ) {
    const { value, done } = await reader.read();
    if (done) break;
    parts.push(value);
    bytes += value.byteLength;
  }
  await reader?.cancel();
  return new TextDecoder().decode(Buffer.concat(parts).subarray(0, shownBytes));
}
