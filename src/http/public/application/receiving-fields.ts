import { Type } from "@sinclair/typebox";
import { type ClientType, deliveryModes } from "../../../domain/applications.ts";
import type { FieldProblem } from "../../../domain/errors.ts";
import { redirectUriProblem } from "../../../domain/redirect-uris.ts";
import { nullable, oneOf } from "../../../domain/validation/fields.ts";
import { checkWebhookUrl } from "../../../webhooks/address.ts";

/*
 * The fields of an application that operators set, and that its developer sets unless they are locked.
 */

export const receivingFields = {
  delivery: oneOf(deliveryModes, {
    description:
      "How it gets its events: sent to its webhook URL, on the event stream, or both. With `stream` nothing is sent to its URL any more, and what is pending can be read from the stream.",
  }),
  webhook_url: nullable(Type.String({ maxLength: 2048 }), {
    description:
      "Where its events are sent; null: nowhere, and what is pending is canceled, as is what is published from then on.",
  }),
  redirect_uris: Type.Array(Type.String({ minLength: 1, maxLength: 2048 }), {
    maxItems: 20,
    description: "Where its users may be sent back to.",
  }),
};

interface Addresses {
  readonly webhook_url?: string | null;
  readonly redirect_uris?: readonly string[];
}

/** What is wrong with the given addresses of an application, all at once. */
export function addressProblems(
  { webhook_url, redirect_uris = [] }: Addresses,
  clientType: ClientType,
  allowPrivate: boolean,
): FieldProblem[] {
  const wrong: FieldProblem[] = [];
  const verdict = webhook_url ? checkWebhookUrl(webhook_url, { allowPrivate }) : null;
  // As of a variable that is not set, which must not cancel what is pending.
  if (webhook_url === "")
    wrong.push({ in: "body", field: "webhook_url", message: "is empty; null is for none" });
  if (verdict?.ok === false) wrong.push({ in: "body", field: "webhook_url", message: verdict.reason });
  for (const [i, uri] of redirect_uris.entries()) {
    const problem = redirectUriProblem(uri, clientType);
    if (problem) wrong.push({ in: "body", field: `redirect_uris[${i}]`, message: problem });
  }
  return wrong;
}
