import { second } from "../domain/time.ts";
import type { OutcomeClass } from "./retry.ts";
import type { SendResult } from "./sender.ts";

/** A receiver that takes so long is close to being too slow. */
const slowMs = 5 * second;

const unreached: Readonly<Partial<Record<OutcomeClass, string>>> = {
  dns: "The host of the webhook URL does not resolve: check its spelling and its DNS records.",
  blocked:
    "The webhook URL may not be called: it must be https and lead to a public address, not into a private network.",
  refused:
    "Nothing accepts connections there: is the program running, on that port, and let through by the firewall?",
  unreachable: "The host cannot be reached: check its address, its routes and its firewall.",
  tls: "No trusted encryption could be agreed on: check that the certificate is valid, for this host name, and sent with its intermediates.",
  proxy: "The platform's own egress proxy failed, not your receiver: try again later.",
  reset:
    "The receiver closed the connection without an answer: look for a crash, or a limit on the size of requests.",
  timeout:
    "The receiver was too slow: it must answer within 15 seconds. Answer first, and do the work afterwards.",
  protocol: "What the receiver sent is not an answer of HTTP/1.1: does something else listen on that port?",
  too_large: "The headers of the answer are too long.",
  internal: "The request could not be made on our side: try again later.",
  canceled: "The server is shutting down: try again later.",
};

const statuses: Readonly<Record<number, string>> = {
  401: "does something in front of the receiver ask for a login?",
  403: "does a firewall or a login in front of the receiver refuse the request?",
  404: "is the path of the webhook URL right?",
  405: "the receiver must take POST at this path.",
  410: "which says that nothing may ever be sent again: it disables the endpoint.",
  413: "the receiver must take bodies of some kilobytes.",
  415: "the receiver must take Content-Type: application/json.",
  429: "the receiver has too much to do, and slows down what is sent to it.",
};

/** What the receiver did wrong, in a sentence or two for its developer; null when it did all right. */
export function diagnose({
  class: outcome,
  status,
  durationMs,
  responseBody,
}: Pick<SendResult, "class" | "status" | "durationMs" | "responseBody">): string | null {
  if (status === null) return unreached[outcome] ?? "No answer arrived.";
  const answered = `It answered ${status}`;
  if (status >= 300 && status < 400)
    return `${answered}, a redirect, which is not followed: set the webhook URL to where it leads.`;
  if (status < 200 || status >= 300) {
    const advice =
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
