import { type Static, Type } from "@sinclair/typebox";
import {
  type Application,
  type ApplicationChanges,
  type ClientType,
  clientTypes,
  lockableFields,
  maxWebhookConcurrency,
} from "../../domain/applications.ts";
import { type FieldProblem, invalidFields } from "../../domain/errors.ts";
import { ulidPattern } from "../../domain/ids.ts";
import { parseScopes, type Scope, scopes } from "../../domain/tokens.ts";
import { about, Id, nullable, oneLine, oneOf } from "../../domain/validation/fields.ts";
import type { Store } from "../../store/store.ts";
import { checkWebhookUrl } from "../../webhooks/address.ts";
import { IsoTimestamp, named, noOtherFields, picked } from "../fields.ts";
import { TextParameter } from "../parameters.ts";
import { addressProblems, receivingFields } from "../public/application/receiving-fields.ts";

/*
 * Schemas of an application in requests and answers of the admin API.
 */

const fields = {
  name: about(oneLine(1, 100), "What users see when they consent."),
  ...receivingFields,
  scopes: Type.Array(Type.String({ maxLength: 100 }), {
    maxItems: 20,
    description: "What its tokens may be for. What is taken away is taken from its tokens at once.",
  }),
  rate_limit: nullable(Type.Integer({ minimum: 0, maximum: 10_000_000 }), {
    description: "Requests a minute; 0: unlimited; null: the server's default.",
  }),
  subscription_limit: nullable(Type.Integer({ minimum: 0, maximum: 1_000_000 }), {
    description: "How many subscriptions it may have; null: the server's default.",
  }),
  webhook_concurrency: nullable(Type.Integer({ minimum: 1, maximum: maxWebhookConcurrency }), {
    description:
      "How many of its deliveries may be under way at once, at most: what its endpoint takes is found out; null: the server's default.",
  }),
  locked: Type.Array(oneOf(lockableFields), {
    maxItems: lockableFields.length,
    uniqueItems: true,
    description: "What its developer may not change by the application's own token.",
  }),
  owner_user_id: nullable(Id, {
    description: "The user to whom it belongs, who may look after it; null: none is known.",
  }),
  disabled: Type.Boolean({
    description:
      "Its tokens and secrets are refused, its pending deliveries are canceled, and nothing is sent to it, nor is it later.",
  }),
};
const { name, disabled, ...others } = fields;

/** Cannot be changed later, because secret and redirect URIs depend on it. */
const client_type = oneOf(clientTypes, {
  description: "`public` for a program on its users' devices, which can keep no secret and has none.",
});

/** Unknown fields are refused: a misspelt field must not create an application without the setting that it meant. */
export const ApplicationInput = Type.Object(
  {
    name,
    client_type: Type.Optional(client_type),
    ...Type.Partial(Type.Object(others)).properties,
  },
  {
    $id: "ApplicationInput",
    description: "A new application.",
    ...noOtherFields,
    examples: [{ name: "My bot", webhook_url: "https://bot.example/webhook" }],
  },
);
export const ApplicationChangesInput = Type.Partial(Type.Object(fields), {
  $id: "ApplicationChanges",
  description: "What is to change.",
  ...noOtherFields,
  examples: [{ rate_limit: 6000 }],
});

const shownFields = {
  id: Type.String({ pattern: ulidPattern, description: "A ULID." }),
  name: Type.String({ description: "What users see when they consent." }),
  client_id: Type.String({ description: "The same as `id`." }),
  client_type,
  delivery: others.delivery,
  webhook_url: others.webhook_url,
  scopes: Type.Array(Type.String(), { description: "What its tokens may do at most." }),
  redirect_uris: Type.Array(Type.String(), { description: "Where users may be sent back to." }),
  rate_limit: others.rate_limit,
  subscription_limit: others.subscription_limit,
  webhook_concurrency: others.webhook_concurrency,
  locked: others.locked,
  owner_user_id: others.owner_user_id,
  disabled,
  created_at: about(IsoTimestamp, "When it was made."),
  updated_at: about(IsoTimestamp, "When it was last changed."),
};
export const ApplicationSchema = named("Application", "A program of a third party.", shownFields);
export const NewApplicationSchema = named("NewApplication", "An application with its secrets.", {
  ...shownFields,
  client_secret: nullable(Type.String(), {
    description: "Shown only here; null for a public client.",
  }),
  webhook_secret: Type.String({ description: "Signs its deliveries. Shown only here." }),
});

/** A page of what may be of one application alone; throws where it is empty because there is no such application. */
export async function pageOfApplication<
  Page extends { readonly data: readonly unknown[]; readonly pagination: { readonly has_more: boolean } },
>(store: Pick<Store, "applications">, id: string | null, page: Page): Promise<Page> {
  if (page.data.length === 0 && !page.pagination.has_more) await requireApplication(store, id);
  return page;
}

/** For an answer in which nothing is: what there is of a deleted application can still be asked for. */
export async function requireApplication(
  { applications }: Pick<Store, "applications">,
  id: string | null,
): Promise<void> {
  if (id !== null && !(await applications.find(id)))
    throw invalidFields([{ in: "query", field: "application_id", message: "is not an application" }]);
}

export const exampleApplication = {
  id: "01KATHZX5M9S3E6R8B2D4F7G1H",
  name: "My bot",
  client_id: "01KATHZX5M9S3E6R8B2D4F7G1H",
  client_type: "confidential",
  delivery: "webhook",
  webhook_url: "https://bot.example/webhook",
  scopes: ["users:read", "events:subscribe"],
  redirect_uris: [],
  rate_limit: null,
  subscription_limit: null,
  webhook_concurrency: null,
  locked: [],
  owner_user_id: null,
  disabled: false,
  created_at: "2026-01-14T16:08:06.123Z",
  updated_at: "2026-01-14T16:08:06.123Z",
};

/** The id of an application in a path or query. */
export const ApplicationIdParameter = TextParameter({
  pattern: ulidPattern,
  errorMessage: `must be a ULID, like ${exampleApplication.id}`,
  description: "A ULID.",
});
export const ApplicationParams = Type.Object({ id: ApplicationIdParameter });

/** What belongs to an application as operators see it: with the application's id behind its own. */
export function owned<T extends { readonly id: string }>(app_id: string, { id, ...rest }: T) {
  return { id, app_id, ...rest };
}

/** For operators alone: who is not one cannot change it. */
const privateHint = "In development, the setting --allow-private-webhooks allows it.";

/** Converts the given fields to the stored form; throws `invalid_parameter` with all problems. */
export function checkFields(
  input: Static<typeof ApplicationChangesInput>,
  clientType: ClientType,
  allowPrivate: boolean,
): ApplicationChanges & { readonly scopes?: readonly Scope[] } {
  const wrong: FieldProblem[] = [];
  const { name, webhook_url, scopes: requested, ...others } = input;
  const granted = requested && parseScopes(requested.join(" "));
  if (granted === null) {
    wrong.push({ in: "body", field: "scopes", message: `may hold ${scopes.join(" and ")}` });
  }
  const isPrivate = !!webhook_url && checkWebhookUrl(webhook_url, { allowPrivate: true }).ok;
  for (const problem of addressProblems(input, clientType, allowPrivate)) {
    const isOfSetting = problem.field === "webhook_url" && isPrivate;
    wrong.push(isOfSetting ? { ...problem, message: `${problem.message} ${privateHint}` } : problem);
  }
  if (wrong.length > 0) throw invalidFields(wrong);
  return {
    ...others,
    ...(name !== undefined && { name: name.toWellFormed() }),
    ...(webhook_url !== undefined && { webhook_url }),
    ...(granted && { scopes: granted }),
  };
}

type Shown = Omit<Application, "webhook_secret" | "retired_webhook_secrets" | "endpoint_generation">;

/** An application without its secrets, as answers show it. */
export const shown = (application: Shown) =>
  picked(shownFields, { ...application, client_id: application.id });
