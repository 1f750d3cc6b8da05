import { Type } from "@sinclair/typebox";
import { type ClientType, deliveryModes } from "../../../domain/applications.ts";
import type { FieldProblem } from "../../../domain/errors.ts";
import { redirectUriProblem } from "../../../domain/redirect-uris.ts";
import { nullable, oneOf } from "../../../domain/validation/fields.ts";
import {
  type WebhookHeaderChanges,
  webhookHeaderLimits,
  webhookHeaderProblems,
} from "../../../domain/webhook-headers.ts";
import { checkWebhookUrl } from "../../../webhooks/address.ts";

/*
 * Fields of an application that operators can set, and that its developer can set unless they are locked.
 */

const { count, nameLength, valueLength } = webhookHeaderLimits;

/** Headers as they are shown. */
export const ShownWebhookHeaders = Type.Record(Type.String(), Type.String(), {
  description: "Headers of its own that every webhook to it carries, by name. Their values are masked.",
});

export const receivingFields = {
  delivery: oneOf(deliveryModes, {
    description:
      "How the application receives events: at its webhook URL, on the event stream, or both. With `stream`, nothing is sent to the webhook URL, and pending deliveries can be read from the stream.",
  }),
  webhook_url: nullable(Type.String({ maxLength: 2048 }), {
    description:
      "URL to which events are sent, at most 2048 characters. With null nothing is sent: pending and later deliveries are canceled.",
  }),
  webhook_headers: nullable(
    // Changes may remove all headers and set as many.
    Type.Record(Type.String(), nullable(Type.String()), { maxProperties: 2 * count }),
    {
      description: `Headers that every webhook carries in addition, such as the key of a gateway in front of the receiver: at most ${count}, names of up to ${nameLength} characters, values of up to ${valueLength} printable ASCII characters. Headers in the object are set, those with null are removed, others keep their values; null in place of the object removes all. Values are never shown. Names that begin with \`webhook-\`, \`onair-\`, \`content-\`, \`accept\`, \`proxy-\`, \`if-\`, \`sec-\` or \`x-forwarded-\` are reserved, and so are those of HTTP itself, of traces, and of substitute methods. Headers belong to the origin of the webhook URL: a change to another origin must set \`webhook_headers\`, too, and only those are sent there.`,
    },
  ),
  redirect_uris: Type.Array(Type.String({ minLength: 1, maxLength: 2048 }), {
    maxItems: 20,
    description: "OAuth redirect URIs, at most 20.",
  }),
};

interface Addresses {
  readonly webhook_url?: string | null;
  readonly webhook_headers?: WebhookHeaderChanges;
  readonly redirect_uris?: readonly string[];
}

/** Returns all problems of the given URLs and headers of an application. */
export function addressProblems(
  { webhook_url, webhook_headers = null, redirect_uris = [] }: Addresses,
  clientType: ClientType,
  allowPrivate: boolean,
): FieldProblem[] {
  const wrong: FieldProblem[] = [];
  const verdict = webhook_url ? checkWebhookUrl(webhook_url, { allowPrivate }) : null;
  // A client whose variable is unset sends "", which must not cancel pending deliveries.
  if (webhook_url === "")
    wrong.push({ in: "body", field: "webhook_url", message: "must not be empty; use null for no URL" });
  if (verdict?.ok === false) wrong.push({ in: "body", field: "webhook_url", message: verdict.reason });
  wrong.push(...webhookHeaderProblems(webhook_headers));
  for (const [i, uri] of redirect_uris.entries()) {
    const problem = redirectUriProblem(uri, clientType);
    if (problem) wrong.push({ in: "body", field: `redirect_uris[${i}]`, message: problem });
  }
  return wrong;
}
