/**
 * Headers of an application's own that every webhook to it carries, such as the key of a gateway in front of its
 * receiver. Their values are secrets: they are stored in plain text, because they are sent, and shown masked.
 */

import { type FieldProblem, invalidField, nameInField } from "./errors.ts";

export interface WebhookHeader {
  readonly name: string;
  readonly value: string;
}

/** Changes by name: a value to send, or null to remove the header. Others are kept. null removes all. */
export type WebhookHeaderChanges = Readonly<Record<string, string | null>> | null;

export const webhookHeaderLimits = { count: 10, nameLength: 64, valueLength: 1_024 } as const;

/** Shown in place of every value. No valid value contains it, so a client that sends it back changes nothing. */
const mask = "••••••••";

/** A token (RFC 9110, section 5.6.2). */
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** A field value (RFC 9110, section 5.5) in ASCII, not empty. */
const fieldValue = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/;

/**
 * Names that On Air sets or may set, that frame or route a request, or that change its meaning. Many servers read `_`
 * as `-`. `__proto__` is no field of an object that is assigned to, so it would not be sent.
 */
const reserved = new RegExp(
  `^(?:${[
    "(?:webhook|onair|content|accept|proxy|if|sec|x-forwarded)-.*",
    "accept|baggage|connection|date|expect|forwarded|host|http2-settings|keep-alive|range|te|traceparent|tracestate",
    "--proto--|trailer|transfer-encoding|upgrade|user-agent|via|x-http-method|x-http-method-override|x-method-override|x-real-ip",
  ].join("|")})$`,
);

/** Returns all problems of the given changes, without regard to the headers that the application has. */
export function webhookHeaderProblems(changes: WebhookHeaderChanges): FieldProblem[] {
  const seen = new Set<string>();
  return Object.entries(changes ?? {}).flatMap(([name, value]) => {
    const message =
      nameProblem(name) ?? (value === null ? null : valueProblem(value)) ?? repeated(name, seen);
    return message === null ? [] : [{ in: "body", field: `webhook_headers.${nameInField(name)}`, message }];
  });
}

function nameProblem(name: string): string | null {
  const { nameLength } = webhookHeaderLimits;
  if (!token.test(name))
    return "is not a name of a header (RFC 9110: letters, digits, and some signs such as -)";
  if (name.length > nameLength) return `must have a name of at most ${nameLength} characters`;
  return reserved.test(key(name).replaceAll("_", "-")) ? "is reserved: it cannot be set" : null;
}

function valueProblem(value: string): string | null {
  const { valueLength } = webhookHeaderLimits;
  if (value.includes("•")) return "is masked: leave the header out to keep its value";
  if (value.length > valueLength) return `must be at most ${valueLength} characters`;
  return fieldValue.test(value) ? null : "must be printable ASCII, not empty, and without spaces at its ends";
}

function repeated(name: string, seen: Set<string>): string | null {
  if (seen.has(key(name))) return "must be given only once, in whatever case";
  seen.add(key(name));
  return null;
}

/** Names of headers are compared without regard to case. */
const key = (name: string): string => name.toLowerCase();

interface Addressed {
  readonly webhook_url: string | null;
  readonly webhook_headers: readonly WebhookHeader[];
}

/** The fields of a change that concern headers. */
interface AddressChanges {
  readonly webhook_url?: string | null;
  readonly webhook_headers?: WebhookHeaderChanges;
}

/**
 * Returns the headers of an application after a change without `webhookHeaderProblems`. They belong to the origin of
 * the webhook URL: a receiver never gets those of another one. So a change to another origin begins with none, and has
 * to say which ones it sets. Throws `invalid_parameter` if it does not, for too many headers, and for some without URL.
 */
export function changedWebhookHeaders(before: Addressed, changes: AddressChanges): readonly WebhookHeader[] {
  const { webhook_headers: headerChanges } = changes;
  const url = changes.webhook_url === undefined ? before.webhook_url : changes.webhook_url;
  const isElsewhere = originOf(url) !== originOf(before.webhook_url);
  if (headerChanges === undefined) {
    if (!isElsewhere || before.webhook_headers.length === 0) return before.webhook_headers;
    throw refused(
      "must be given with a webhook_url of another origin: the headers to send there, or null for none",
    );
  }
  const kept = new Map<string, WebhookHeader>();
  if (headerChanges !== null && !isElsewhere)
    for (const header of before.webhook_headers) kept.set(key(header.name), header);
  for (const [name, value] of Object.entries(headerChanges ?? {})) {
    if (value === null) kept.delete(key(name));
    else kept.set(key(name), { name, value });
  }
  const { count } = webhookHeaderLimits;
  if (kept.size > count) throw refused(`may be at most ${count}, and would be ${kept.size}`);
  if (kept.size > 0 && url === null) throw refused("need a webhook_url: they are sent only to its origin");
  return [...kept.values()];
}

const originOf = (url: string | null): string | null =>
  url === null ? null : (URL.parse(url)?.origin ?? url);

function refused(message: string) {
  return invalidField("body", "webhook_headers", message);
}

/** Returns the headers by name, with masked values. */
export function maskedWebhookHeaders(headers: readonly WebhookHeader[]): Record<string, string> {
  return Object.fromEntries(headers.map(({ name }) => [name, mask]));
}
