import { type Application, usesOnlyStream } from "../domain/applications.ts";
import { type Endpoint, endpointStatus } from "../domain/endpoints.ts";
import { isoTime, second } from "../domain/time.ts";
import type { OutcomeClass, SendResult } from "./send/send.ts";
import { cut } from "./shown-response.ts";

/** A receiver that takes this long is at risk of the time limit. */
const slowMs = 5 * second;

const unreached: Readonly<Partial<Record<OutcomeClass, string>>> = {
  dns: "The host of the webhook URL does not resolve: check its spelling and its DNS records.",
  blocked:
    "The webhook URL may not be called: it must be https and lead to a public address, not into a private network.",
  refused:
    "Nothing accepts connections there: is the program running, on that port, and let through by the firewall?",
  unreachable: "The host cannot be reached: check its address, its routes and its firewall.",
  tls: "No trusted TLS connection could be made: check that the certificate is valid, is for this host name, and is sent with its intermediates.",
  proxy: "The platform's own egress proxy failed, not your receiver: try again later.",
  reset:
    "The receiver closed the connection without an answer: look for a crash, or a limit on the size of requests.",
  timeout:
    "The receiver was too slow: it must answer within 15 seconds. Answer first, and do the work afterwards.",
  protocol: "The receiver's answer is not valid HTTP/1.1: does another program listen on that port?",
  too_large: "The headers of the answer are too long.",
  internal: "The request could not be made on our side: try again later.",
  canceled: "The server is shutting down: try again later.",
};

const statuses: Readonly<Record<number, string>> = {
  401: "does something in front of the receiver ask for a login?",
  403: "does a firewall or a login in front of the receiver refuse the request?",
  404: "is the path of the webhook URL right?",
  405: "the receiver must accept POST at this path.",
  410: "this status asks for no further requests, and disables the endpoint.",
  413: "the receiver must accept bodies of some kilobytes.",
  415: "the receiver must accept Content-Type: application/json.",
  429: "the receiver is overloaded, so fewer requests are sent to it.",
};

/** The part of an attempt that the diagnosis is made from. */
export interface Diagnosed
  extends Pick<SendResult, "class" | "status" | "durationMs" | "responseBody" | "timings" | "speaks"> {
  /** The webhook URL. */
  readonly url: string;
  /** The `Location` header of the answer; null if it had none. */
  readonly location: string | null;
}

/** Returns what the receiver did wrong, in a sentence or two for its developer; null if nothing. */
export function diagnose(attempt: Diagnosed): string | null {
  const { class: outcome, status, durationMs, responseBody } = attempt;
  if (status === null) return schemeAdvice(attempt) ?? unreached[outcome] ?? "No response arrived.";
  const answered = `It answered ${status}`;
  if (status >= 300 && status < 400) return `${answered}, ${redirectAdvice(attempt)}`;
  if (status < 200 || status >= 300) {
    const advice =
      schemeAdvice(attempt) ??
      verificationAdvice(status, responseBody) ??
      statuses[status] ??
      (status >= 500
        ? "the program failed or is not behind its proxy: look into its log."
        : "the receiver refused the request: look into its log.");
    return `${answered}: ${advice}`;
  }
  if (durationMs >= slowMs)
    return `${answered}, but only after ${(durationMs / second).toFixed(1)} seconds; after 15 it counts as failed. Answer first, and do the work afterwards.`;
  if (/^\s*<(!doctype|html)/i.test(responseBody))
    return `${answered} with a web page: is the webhook URL that of the receiver, or does a login page stand in front?`;
  return null;
}

const beginsWithHttps = "it must begin with https:// where the receiver speaks TLS";
const beginsWithHttp = "it must begin with http:// where the receiver speaks no TLS";

/** Matches the answers of TLS servers to a request without TLS. */
const saysHttps = /HTTPS (server|port)|SSL-enabled server|plain HTTP request/i;

/** Returns advice if the scheme of the webhook URL is wrong or may be. */
function schemeAdvice({
  class: outcome,
  status,
  responseBody,
  timings,
  speaks,
  url,
}: Diagnosed): string | null {
  const isHttps = url.startsWith("https:");
  if (status === 400 && !isHttps && saysHttps.test(responseBody))
    return `http or https? The receiver says that it speaks TLS there: the webhook URL must begin with https://.`;
  if (status !== null) return null;
  if (speaks === "http" && isHttps)
    return `http or https? The receiver speaks no TLS on that port: look at scheme and port of the webhook URL; ${beginsWithHttp}.`;
  if (speaks === "https" && !isHttps)
    return `http or https? The receiver speaks TLS on that port: the webhook URL must begin with https://.`;
  if (!isHttps && outcome === "reset")
    return `The receiver closed the connection without an answer. http or https? Look at the webhook URL: ${beginsWithHttps}. If it is right, look for a crash, or a limit on the size of requests.`;
  const isUnencrypted = isHttps && timings.connectMs !== null && timings.tlsMs === null;
  if (isUnencrypted && (outcome === "reset" || outcome === "timeout"))
    return `A connection was made, but the TLS handshake failed. http or https? Look at the webhook URL: ${beginsWithHttp}.`;
  return null;
}

const longestLocation = 300;

/** Returns where a redirect leads, and what to do about it. */
function redirectAdvice({ url, location }: Diagnosed): string {
  if (location === null) return "a redirect, which is not followed: set the webhook URL to its target.";
  const to = URL.parse(location, url);
  const from = URL.parse(url);
  const target = cut(to?.href ?? location, longestLocation);
  const isOtherScheme = to && from && to.protocol !== from.protocol && to.hostname === from.hostname;
  const question = isOtherScheme ? "http or https? " : "";
  return `a redirect to ${target}, which is not followed. ${question}Set the webhook URL to the receiver's own address.`;
}

/** Statuses with which receivers reject requests that they could not verify. */
const refusals: ReadonlySet<number> = new Set([400, 401, 403, 422]);

const verificationWords =
  /signature|hmac|whsec_|webhook ?verification|(invalid|wrong|bad|incorrect)[ _-]?secret/i;
const timestampWords = /timestamp[^.]{0,40}(too (old|new)|tolerance|expired|past|future)|clock skew/i;

const wrongSecret =
  "probably the wrong secret: the receiver could not verify the signature. Give it the webhook secret in force (whsec_…), and have it verify the body as it arrived, before it is parsed.";

const samplesRefused =
  "the receiver refuses samples, whose webhook-id begins with test_. In production that is right: events reach it. To try the rest of it, let it accept samples.";

/** Returns advice if the receiver could not verify the request, or refuses samples. */
function verificationAdvice(status: number, responseBody: string): string | null {
  if (status === 403 && /\btest_/.test(responseBody)) return samplesRefused;
  // An error that the library throws and the program does not catch becomes a 5xx.
  const isUncaught = status >= 500 && /WebhookVerificationError|no matching signature/i.test(responseBody);
  if (!refusals.has(status) && !isUncaught) return null;
  if (timestampWords.test(responseBody))
    return "the receiver does not accept the timestamp: probably its clock is wrong. It must be right to 5 minutes.";
  if (isUncaught || verificationWords.test(responseBody)) return wrongSecret;
  // The receivers in docs/verifying.md answer this when verification fails.
  if (status === 401 && responseBody.trim() === "") return `${wrongSecret} If it is right, ${statuses[401]}`;
  return null;
}

/** The state of an endpoint in words. */
interface EndpointSummary {
  /** The state in one sentence. */
  readonly summary: string;
  /** What to do next; null for nothing. */
  readonly advice: string | null;
}

type Receiver = Pick<Application, "delivery" | "webhook_url" | "disabled">;

interface SummaryOptions {
  /** Whether an attempt is being made, or is about to be. */
  readonly isSending?: boolean;
  /** Whether the advice is for an operator, who cannot send tests; by default it is for the developer. */
  readonly isForOperator?: boolean;
}

/**
 * Returns the state of an application's endpoint in a sentence, and what its reader can do about it. The advice of a
 * failing or disabled endpoint is the same for developers and operators: notices have both as readers.
 */
export function endpointSummary(
  application: Receiver,
  endpoint: Endpoint,
  { isSending = false, isForOperator = false }: SummaryOptions = {},
): EndpointSummary {
  if (application.disabled) {
    const summary =
      "The platform has disabled this application: its tokens are refused, and nothing is sent.";
    return { summary, advice: isForOperator ? "Enable the application." : "Ask the platform why." };
  }
  if (usesOnlyStream(application)) {
    return { summary: "Events are read from the stream; no webhook is called.", advice: null };
  }
  if (application.webhook_url === null) {
    const summary = "There is no webhook URL, so nothing is sent and new deliveries are canceled.";
    return { summary, advice: "Set the webhook URL; a replay then sends the canceled deliveries." };
  }
  const { disabled_at, disabled_reason, failing_since, failures, last_failure_at, last_success_at } =
    endpoint;
  switch (endpointStatus(endpoint)) {
    case "disabled": {
      const since = `Disabled since ${isoTime(disabled_at ?? 0)}: `;
      const enabling = "then enable the endpoint. Events for it are kept for 3 days.";
      if (disabled_reason === "gone") {
        const summary = `${since}it answered 410, which asks for no further requests.`;
        return { summary, advice: `Have the receiver answer 2xx, ${enabling}` };
      }
      const summary =
        `${since}every attempt failed for 24 hours. ${endpoint.last_failure_error ?? ""}`.trim();
      return { summary, advice: `${findingOf(application.webhook_url, endpoint)} Fix that, ${enabling}` };
    }
    case "failing": {
      const attempts = failures === 1 ? "1 attempt" : `${failures} attempts`;
      const summary =
        `Failing since ${isoTime(failing_since ?? 0)}, ${attempts}. ${endpoint.last_failure_error ?? ""}`.trim();
      const advice = `${findingOf(application.webhook_url, endpoint)} Fix that, then try it now; retries continue automatically.`;
      return { summary, advice };
    }
    case "enabled": {
      const advice = isForOperator
        ? "Its developer can send a test, in the portal or with onair test."
        : "Send a test to see that it answers.";
      // Since that failure the endpoint was enabled by hand, or got another URL.
      const hasFailed = last_failure_at !== null && last_failure_at > (last_success_at ?? 0);
      if (isSending && (hasFailed || last_success_at === null))
        return {
          summary: "A delivery is being sent now.",
          advice: "The receiver has 15 seconds to answer; then the attempt has failed.",
        };
      if (hasFailed)
        return { summary: `Nothing was sent since the failure at ${isoTime(last_failure_at)}.`, advice };
      if (last_success_at === null) return { summary: "Nothing was sent to the endpoint yet.", advice };
      const summary = `The endpoint accepts deliveries, the last one at ${isoTime(last_success_at)}.`;
      return { summary, advice: null };
    }
  }
}

/** Returns the diagnosis of the last failure. It has no answer to go by: an answer is not stored with the endpoint. */
function findingOf(url: string, endpoint: Endpoint): string {
  const { last_failure_status: status, last_failure_outcome, last_failure_error } = endpoint;
  const outcome = (last_failure_outcome ?? (status === null ? null : "status")) as OutcomeClass | null;
  if (outcome === null) return last_failure_error ?? "The last attempt failed.";
  const timings = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null };
  const known = { class: outcome, status, durationMs: 0, responseBody: "", timings, url, location: null };
  return diagnose(known) ?? "The last attempt failed.";
}
