import { Type } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { type Application, clientTypes } from "../../domain/applications.ts";
import { invalidFields } from "../../domain/errors.ts";
import { oneLine } from "../../domain/fields.ts";
import { newId } from "../../domain/ids.ts";
import { redirectUriProblem } from "../../domain/redirect-uris.ts";
import { isoTime } from "../../domain/time.ts";
import { newSecret, parseScopes, scopes, secretHash } from "../../domain/tokens.ts";
import type { Store } from "../../store/store.ts";
import { checkWebhookUrl } from "../../webhooks/address.ts";
import { newWebhookSecret } from "../../webhooks/signature.ts";
import { readJson } from "../body.ts";
import { replyJson } from "../exchange.ts";
import { type AdminListener, operatorOnly } from "./base.ts";

const ApplicationInput = Type.Object({
  name: oneLine(1, 100),
  client_type: Type.Optional(Type.Union(clientTypes.map((one) => Type.Literal(one)))),
  webhook_url: Type.Optional(Type.Union([Type.String({ maxLength: 2048 }), Type.Null()])),
  scopes: Type.Optional(Type.Array(Type.String({ maxLength: 100 }), { maxItems: 20 })),
  redirect_uris: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 2048 }), { maxItems: 20 })),
  rate_limit: Type.Optional(Type.Union([Type.Integer({ minimum: 1, maximum: 10_000_000 }), Type.Null()])),
  subscription_limit: Type.Optional(
    Type.Union([Type.Integer({ minimum: 0, maximum: 1_000_000 }), Type.Null()]),
  ),
});
const applicationInput = TypeCompiler.Compile(ApplicationInput);

export interface ApplicationRouteOptions {
  readonly store: Store;
  readonly now: () => number;
  readonly allowPrivateWebhooks: boolean;
}

/** Applications of third parties. */
export function applicationRoutes(
  app: AdminListener,
  { store, now, allowPrivateWebhooks }: ApplicationRouteOptions,
): void {
  app.post(
    "/admin/v1/applications",
    async ({ exchange, request }) => {
      const input = await readJson(request, applicationInput);
      const { client_type = "confidential", redirect_uris = [] } = input;
      const asked = parseScopes((input.scopes ?? scopes).join(" "));
      const url = input.webhook_url
        ? checkWebhookUrl(input.webhook_url, { allowPrivate: allowPrivateWebhooks })
        : null;
      const wrong = [
        ...(asked
          ? []
          : [{ in: "body" as const, field: "scopes", message: `may hold ${scopes.join(" and ")}` }]),
        ...(url?.ok === false ? [{ in: "body" as const, field: "webhook_url", message: url.reason }] : []),
        ...redirect_uris.flatMap((uri, i) => {
          const message = redirectUriProblem(uri, client_type);
          return message ? [{ in: "body" as const, field: `redirect_uris[${i}]`, message }] : [];
        }),
      ];
      if (wrong.length > 0) throw invalidFields(wrong);
      const secret = client_type === "public" ? null : newSecret("onair_cs_");
      const at = isoTime(now());
      const application: Application = {
        id: newId(),
        name: input.name.toWellFormed(),
        client_type,
        webhook_url: input.webhook_url || null,
        webhook_secret: newWebhookSecret(),
        scopes: asked ?? [],
        redirect_uris,
        rate_limit: input.rate_limit ?? null,
        subscription_limit: input.subscription_limit ?? null,
        created_at: at,
        updated_at: at,
      };
      await store.applications.create({
        ...application,
        client_secret_hash: secret === null ? null : secretHash(secret),
      });
      const { id, name, ...rest } = application;
      return replyJson(exchange, 201, { id, name, client_id: id, client_secret: secret, ...rest });
    },
    operatorOnly(),
  );
}
