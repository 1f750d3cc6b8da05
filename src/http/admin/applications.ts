import { type Static, Type } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import {
  type Application,
  type ApplicationChanges,
  type ClientType,
  clientTypes,
} from "../../domain/applications.ts";
import { DomainError, type FieldProblem, invalidFields } from "../../domain/errors.ts";
import { oneLine } from "../../domain/fields.ts";
import { newId, ulidPattern } from "../../domain/ids.ts";
import { redirectUriProblem } from "../../domain/redirect-uris.ts";
import { isoTime } from "../../domain/time.ts";
import { newSecret, parseScopes, type Scope, scopes, secretHash } from "../../domain/tokens.ts";
import type { Store } from "../../store/store.ts";
import { checkWebhookUrl } from "../../webhooks/address.ts";
import { newWebhookSecret } from "../../webhooks/signature.ts";
import type { Authenticator } from "../auth.ts";
import { readJson } from "../body.ts";
import { reply, replyJson } from "../exchange.ts";
import { answer, IsoTimestamp, Message } from "../public/reference.ts";
import { readParam, readQuery } from "../query.ts";
import type { AdminListener } from "./base.ts";
import { adminOperation, closed } from "./reference.ts";

const nullable = <T extends ReturnType<typeof Type.String | typeof Type.Integer>>(
  schema: T,
  description: string,
) => Type.Union([schema, Type.Null()], { description });

const fields = {
  name: oneLine(1, 100),
  webhook_url: nullable(
    Type.String({ maxLength: 2048 }),
    "Where its events are sent; null: nowhere, and what is pending is canceled.",
  ),
  scopes: Type.Array(Type.String({ maxLength: 100 }), {
    maxItems: 20,
    description: "What its tokens may be for. What is taken away is taken from its tokens at once.",
  }),
  redirect_uris: Type.Array(Type.String({ minLength: 1, maxLength: 2048 }), {
    maxItems: 20,
    description: "Where its users may be sent back to.",
  }),
  rate_limit: nullable(
    Type.Integer({ minimum: 1, maximum: 10_000_000 }),
    "Requests a minute; null: the server's default.",
  ),
  subscription_limit: nullable(
    Type.Integer({ minimum: 0, maximum: 1_000_000 }),
    "How many subscriptions it may have; null: the server's default.",
  ),
  disabled: Type.Boolean({
    description:
      "Its tokens and secrets are refused, its pending deliveries are canceled, and nothing is sent to it, nor is it later.",
  }),
};
const { name, disabled, ...others } = fields;

/** It is settled once, because secret and redirect URIs depend on it. */
const client_type = Type.Union(
  clientTypes.map((one) => Type.Literal(one)),
  { description: "`public` for a program on its users' devices, which can keep no secret and has none." },
);

const ApplicationInput = Type.Object({
  name,
  client_type: Type.Optional(client_type),
  ...Type.Partial(Type.Object(others)).properties,
});
const applicationInput = TypeCompiler.Compile(ApplicationInput);
const Changes = Type.Partial(Type.Object(fields));
const changesInput = TypeCompiler.Compile(Changes);

const shownFields = {
  id: Type.String({ pattern: ulidPattern, description: "A ULID." }),
  name: Type.String(),
  client_id: Type.String({ description: "The same as `id`." }),
  client_type,
  webhook_url: others.webhook_url,
  scopes: Type.Array(Type.String()),
  redirect_uris: Type.Array(Type.String()),
  rate_limit: others.rate_limit,
  subscription_limit: others.subscription_limit,
  disabled,
  created_at: IsoTimestamp,
  updated_at: IsoTimestamp,
};
export const ApplicationSchema = Type.Object(shownFields, { $id: "Application", ...closed });
const NewApplicationSchema = Type.Object(
  {
    ...shownFields,
    client_secret: nullable(Type.String(), "Shown only here; null for a public client."),
    webhook_secret: Type.String({ description: "Signs its deliveries. Shown only here." }),
  },
  { $id: "NewApplication", ...closed },
);

export const ApplicationId = Type.Object({ id: shownFields.id });

const ListQuery = Type.Object({
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 100, default: 25, description: "How many applications to return." }),
  ),
  cursor: Type.Optional(
    Type.String({
      pattern: ulidPattern,
      errorMessage: "is not one of this list",
      description: "The `cursor` of the page before.",
    }),
  ),
});

const Pagination = Type.Object({ cursor: Type.String(), has_more: Type.Boolean() }, closed);

export const exampleApplication = {
  id: "01KATHZX5M9S3E6R8B2D4F7G1H",
  name: "My bot",
  client_id: "01KATHZX5M9S3E6R8B2D4F7G1H",
  client_type: "confidential",
  webhook_url: "https://bot.example/webhook",
  scopes: ["users:read", "events:subscribe"],
  redirect_uris: [],
  rate_limit: null,
  subscription_limit: null,
  disabled: false,
  created_at: "2026-01-14T16:08:06.123Z",
  updated_at: "2026-01-14T16:08:06.123Z",
};

export interface ApplicationRouteOptions {
  readonly store: Store;
  readonly authenticator: Pick<Authenticator, "forget">;
  readonly now: () => number;
  readonly allowPrivateWebhooks: boolean;
}

/** Create, list, get, change and delete applications of third parties. */
export function applicationRoutes(app: AdminListener, options: ApplicationRouteOptions): void {
  const { store, authenticator, now, allowPrivateWebhooks } = options;
  const path = "/admin/v1/applications";
  const tag = "Applications";

  app.post(
    path,
    async ({ exchange, request }) => {
      const input = await readJson(request, applicationInput);
      const { client_type = "confidential" } = input;
      const { scopes: asked = scopes, ...checked } = checkFields(input, client_type, allowPrivateWebhooks);
      const secret = client_type === "public" ? null : newSecret("onair_cs_");
      const webhook_secret = newWebhookSecret();
      const at = isoTime(now());
      const application = {
        id: newId(),
        name: input.name.toWellFormed(),
        client_type,
        webhook_url: checked.webhook_url ?? null,
        webhook_secret,
        scopes: asked,
        redirect_uris: checked.redirect_uris ?? [],
        rate_limit: checked.rate_limit ?? null,
        subscription_limit: checked.subscription_limit ?? null,
        created_at: at,
        updated_at: at,
      };
      await store.applications.create({
        ...application,
        client_secret_hash: secret === null ? null : secretHash(secret),
      });
      const created = shown({ ...application, disabled: false });
      return replyJson(exchange, 201, { ...created, client_secret: secret, webhook_secret });
    },
    adminOperation({
      id: "createApplication",
      tag,
      summary: "Create Application",
      description:
        "Makes an application with a client secret and a webhook secret, which are shown only now.",
      body: {
        json: {
          schema: ApplicationInput,
          example: { name: "My bot", webhook_url: "https://bot.example/webhook" },
        },
      },
      answers: {
        201: answer("The application and its secrets.", {
          schema: NewApplicationSchema,
          example: {
            ...exampleApplication,
            client_secret: "onair_cs_…",
            webhook_secret: "whsec_…",
          },
        }),
      },
    }),
  );

  app.get(
    path,
    async ({ exchange, request }) => {
      const { limit = 25, cursor = "" } = readQuery(request.url, ListQuery);
      const found = await store.applications.page(cursor, limit + 1);
      const data = found.slice(0, limit).map(shown);
      const hasMore = found.length > limit;
      const pagination = { cursor: hasMore ? (data.at(-1)?.id ?? "") : "", has_more: hasMore };
      return replyJson(exchange, 200, { data, pagination, message: "OK" });
    },
    adminOperation({
      id: "getApplications",
      tag,
      summary: "List Applications",
      description: "All applications, the oldest first. On the last page `cursor` is empty.",
      query: ListQuery,
      answers: {
        200: answer("A page of applications, without their secrets.", {
          schema: Type.Object(
            { data: Type.Array(ApplicationSchema), pagination: Pagination, message: Message },
            closed,
          ),
          example: {
            data: [exampleApplication],
            pagination: { cursor: "", has_more: false },
            message: "OK",
          },
        }),
      },
      errors: ["invalid_cursor"],
    }),
  );

  app.get(
    `${path}/:id`,
    async ({ exchange, params }) => {
      const found = await store.applications.find(readApplicationId(params.id));
      return replyJson(exchange, 200, shown(existing(found)));
    },
    adminOperation({
      id: "getApplication",
      tag,
      summary: "Get Application",
      description: "One application, without its secrets.",
      params: ApplicationId,
      answers: {
        200: answer("The application.", { schema: ApplicationSchema, example: exampleApplication }),
      },
      errors: ["not_found"],
    }),
  );

  app.patch(
    `${path}/:id`,
    async ({ exchange, request, params }) => {
      const id = readApplicationId(params.id);
      const input = await readJson(request, changesInput);
      const { client_type } = existing(await store.applications.find(id));
      const changes = checkFields(input, client_type, allowPrivateWebhooks);
      const changed = existing(await store.applications.update(id, changes, now()));
      authenticator.forget();
      return replyJson(exchange, 200, shown(changed));
    },
    adminOperation({
      id: "changeApplication",
      tag,
      summary: "Change Application",
      description:
        "Changes the fields that the body names. They hold for every request and every delivery that starts after the answer.",
      params: ApplicationId,
      body: { json: { schema: Changes, example: { rate_limit: 6000 } } },
      answers: {
        200: answer("The application as it is now.", {
          schema: ApplicationSchema,
          example: { ...exampleApplication, rate_limit: 6000 },
        }),
      },
      errors: ["not_found"],
    }),
  );

  app.delete(
    `${path}/:id`,
    async ({ exchange, params }) => {
      const removed = await store.applications.remove(readApplicationId(params.id), now());
      if (!removed) throw unknownApplication();
      authenticator.forget();
      return reply(exchange, 204, null);
    },
    adminOperation({
      id: "deleteApplication",
      tag,
      summary: "Delete Application",
      description:
        "Deletes the application, its tokens and its subscriptions, and cancels its pending deliveries. It cannot be undone; `disabled` can.",
      params: ApplicationId,
      answers: { 204: answer("It is gone.") },
      errors: ["not_found"],
    }),
  );
}

/** The id of an application in a path. */
export function readApplicationId(text: string): string {
  return readParam("id", text, shownFields.id);
}

/** The application, or the error that there is none. */
export function existing<T>(found: T | null): T {
  if (found === null) throw unknownApplication();
  return found;
}

function unknownApplication(): DomainError {
  return new DomainError("not_found", "There is no application with this id");
}

/** The fields of an application that are given, in the form in which they are kept; throws what is wrong with them. */
function checkFields(
  input: Static<typeof Changes>,
  clientType: ClientType,
  allowPrivate: boolean,
): ApplicationChanges & { readonly scopes?: readonly Scope[] } {
  const wrong: FieldProblem[] = [];
  const refuse = (field: string, message: string) => wrong.push({ in: "body", field, message });
  const { name, webhook_url, scopes: asked, redirect_uris, rate_limit, subscription_limit, disabled } = input;
  const granted = asked && parseScopes(asked.join(" "));
  if (granted === null) refuse("scopes", `may hold ${scopes.join(" and ")}`);
  const verdict = webhook_url ? checkWebhookUrl(webhook_url, { allowPrivate }) : null;
  if (verdict?.ok === false) refuse("webhook_url", verdict.reason);
  for (const [i, uri] of (redirect_uris ?? []).entries()) {
    const problem = redirectUriProblem(uri, clientType);
    if (problem) refuse(`redirect_uris[${i}]`, problem);
  }
  if (wrong.length > 0) throw invalidFields(wrong);
  return {
    ...(name !== undefined && { name: name.toWellFormed() }),
    ...(webhook_url !== undefined && { webhook_url: webhook_url || null }),
    ...(granted && { scopes: granted }),
    ...(redirect_uris && { redirect_uris }),
    ...(rate_limit !== undefined && { rate_limit }),
    ...(subscription_limit !== undefined && { subscription_limit }),
    ...(disabled !== undefined && { disabled }),
  };
}

type Shown = Omit<Application, "webhook_secret" | "retired_webhook_secrets">;

/** An application as it is told: none of its secrets. */
function shown(application: Shown) {
  const { id, name, client_type, webhook_url, scopes, redirect_uris, rate_limit } = application;
  const { subscription_limit, disabled, created_at, updated_at } = application;
  return {
    id,
    name,
    client_id: id,
    client_type,
    webhook_url,
    scopes,
    redirect_uris,
    rate_limit,
    subscription_limit,
    disabled,
    created_at,
    updated_at,
  };
}
