import { type Static, type TObject, type TProperties, type TString, Type } from "@sinclair/typebox";
import { checkWebhookUrl } from "../../delivery/send/address.ts";
import {
  type Application,
  type ApplicationChanges,
  type ClientType,
  clientTypes,
  lockableFields,
  maxWebhookConcurrency,
} from "../../domain/applications.ts";
import { type FieldProblem, invalidField, invalidFields } from "../../domain/errors.ts";
import { shownFilters, shownFilterTimes } from "../../domain/filters.ts";
import { ulidPattern } from "../../domain/ids.ts";
import type { Store } from "../../domain/store.ts";
import { parseScopes, type Scope, scopes } from "../../domain/tokens.ts";
import { about, Id, nullable, oneLine, oneOf } from "../../domain/validation/fields.ts";
import { maskedWebhookHeaders } from "../../domain/webhook-headers.ts";
import { IsoTimestamp, named, noOtherFields, picked, TextParameter } from "../http/parameters.ts";
import {
  receivingFields,
  receivingProblems,
  ShownFilters,
  ShownFilterTimes,
  ShownWebhookHeaders,
} from "../public/application.ts";
import type { AdminDeps } from "./listener.ts";

/*
 * Schemas of an application in requests and answers of the admin API.
 */

const fields = {
  name: about(oneLine(1, 100), "Name that users see when they consent."),
  ...receivingFields,
  scopes: Type.Array(Type.String({ maxLength: 100 }), {
    maxItems: 20,
    description: "Scopes that its tokens may have. Removing a scope removes it from existing tokens at once.",
  }),
  rate_limit: nullable(Type.Integer({ minimum: 0, maximum: 10_000_000 }), {
    description: "Requests per minute; 0 means unlimited, null the server's default.",
  }),
  subscription_limit: nullable(Type.Integer({ minimum: 0, maximum: 1_000_000 }), {
    description: "Maximum number of subscriptions; null means the server's default.",
  }),
  webhook_concurrency: nullable(Type.Integer({ minimum: 1, maximum: maxWebhookConcurrency }), {
    description:
      "Maximum number of concurrent deliveries; null means the server's default. The actual number adapts to the endpoint.",
  }),
  locked: Type.Array(oneOf(lockableFields), {
    maxItems: lockableFields.length,
    uniqueItems: true,
    description: "Fields that the developer cannot change with the application's own token.",
  }),
  owner_user_id: nullable(Id, {
    description: "User id of the owner, who may manage the application; null if unknown.",
  }),
  disabled: Type.Boolean({
    description:
      "Whether the application is disabled: its tokens and secrets are refused, its pending deliveries are canceled, and events published meanwhile are not sent to it, now or later.",
  }),
};
const { name, disabled, ...others } = fields;

/** The client type cannot be changed, because the secret and the redirect URIs depend on it. */
const client_type = oneOf(clientTypes, {
  description: "OAuth client type. `public` is for programs on users' devices, which have no client secret.",
});

/** Unknown fields are refused, so that a misspelt field is not silently ignored. */
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
  description: "The fields to change. Absent fields keep their values.",
  ...noOtherFields,
  examples: [{ rate_limit: 6000 }],
});

const shownFields = {
  id: Type.String({ pattern: ulidPattern, description: "Id of the application." }),
  name: Type.String({ description: "Name that users see when they consent." }),
  client_id: Type.String({ description: "OAuth client id; the same as `id`." }),
  client_type,
  delivery: others.delivery,
  webhook_url: others.webhook_url,
  webhook_headers: ShownWebhookHeaders,
  filters: ShownFilters,
  filters_set_at: ShownFilterTimes,
  scopes: Type.Array(Type.String(), { description: "Scopes that its tokens may have." }),
  redirect_uris: Type.Array(Type.String(), { description: "OAuth redirect URIs." }),
  rate_limit: others.rate_limit,
  subscription_limit: others.subscription_limit,
  webhook_concurrency: others.webhook_concurrency,
  locked: others.locked,
  owner_user_id: others.owner_user_id,
  disabled,
  created_at: about(IsoTimestamp, "Time at which the application was created."),
  updated_at: about(IsoTimestamp, "Time of its last change."),
};
export const ApplicationSchema = named("Application", "An application of a third party.", shownFields);
export const NewApplicationSchema = named("NewApplication", "An application with its secrets.", {
  ...shownFields,
  client_secret: nullable(Type.String(), {
    description: "Client secret, shown only once; null for a public client.",
  }),
  webhook_secret: Type.String({ description: "Secret that signs its deliveries, shown only once." }),
});

/** Returns `page`. Throws `invalid_parameter` if it is empty because its application does not exist. */
export async function pageOfApplication<
  Page extends { readonly data: readonly unknown[]; readonly pagination: { readonly has_more: boolean } },
>(store: Pick<Store, "applications">, id: string | null, page: Page): Promise<Page> {
  if (page.data.length === 0 && !page.pagination.has_more) await requireApplication(store, id);
  return page;
}

/** Throws if an application does not exist. Used for empty results, because data of deleted applications is kept. */
export async function requireApplication(
  { applications }: Pick<Store, "applications">,
  id: string | null,
): Promise<void> {
  if (id !== null && !(await applications.find(id)))
    throw invalidField("query", "application_id", "is not an application");
}

export const exampleApplication = {
  id: "01KATHZX5M9S3E6R8B2D4F7G1H",
  name: "My bot",
  client_id: "01KATHZX5M9S3E6R8B2D4F7G1H",
  client_type: "confidential",
  delivery: "webhook",
  webhook_url: "https://bot.example/webhook",
  webhook_headers: {},
  filters: {},
  filters_set_at: {},
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

/** Returns the schema of an object of an application for the admin API, with `app_id` after its own id. */
export function ownedSchema<Fields extends TProperties>({
  $id = "",
  description = "",
  properties,
}: TObject<Fields & { id: TString }>) {
  const { id, ...rest } = properties;
  return named($id, description, {
    id,
    app_id: Type.String({ description: "Id of the application." }),
    ...rest,
  });
}

/** Returns an object of an application for the admin API, with `app_id` after its own id. */
export function owned<T extends { readonly id: string }>(app_id: string, { id, ...rest }: T) {
  return { id, app_id, ...rest };
}

/** A hint in errors of the admin API only: developers cannot change the setting. */
const privateHint = "In development, the setting --allow-private-webhooks allows it.";

/** Converts the given fields to the stored form. Throws `invalid_parameter` with all problems. */
export function checkFields(
  input: Static<typeof ApplicationChangesInput>,
  clientType: ClientType,
  options: Pick<AdminDeps, "allowPrivateWebhooks" | "catalogue">,
): ApplicationChanges & { readonly scopes?: readonly Scope[] } {
  const wrong: FieldProblem[] = [];
  const { name, webhook_url, scopes: requested, ...others } = input;
  const granted = requested && parseScopes(requested.join(" "));
  if (granted === null) {
    wrong.push({ in: "body", field: "scopes", message: `may hold ${scopes.join(" and ")}` });
  }
  const isPrivate = !!webhook_url && checkWebhookUrl(webhook_url, { allowPrivate: true }).ok;
  for (const problem of receivingProblems(input, clientType, options)) {
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

type Shown = Omit<
  Application,
  "former_urls" | "webhook_secret" | "retired_webhook_secrets" | "filters_generation" | "endpoint_generation"
>;

/** Returns an application in the form of the admin API, without its secrets, and with masked values of its headers. */
export const shownApplication = (application: Shown) =>
  picked(shownFields, {
    ...application,
    webhook_headers: maskedWebhookHeaders(application.webhook_headers),
    filters: shownFilters(application.filters),
    filters_set_at: shownFilterTimes(application.filters),
    client_id: application.id,
  });
