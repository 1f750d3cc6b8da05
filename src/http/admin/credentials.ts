import { type Static, Type } from "@sinclair/typebox";
import { type Rotation, rotationLimits } from "../../domain/applications.ts";
import { invalidFields } from "../../domain/errors.ts";
import { about, closed as closedObject, Id } from "../../domain/fields.ts";
import { isoTime, second } from "../../domain/time.ts";
import {
  appTokenLifetimeMs,
  appTokensKept,
  newSecret,
  parseScopes,
  secretHash,
} from "../../domain/tokens.ts";
import { newWebhookSecret } from "../../webhooks/signature.ts";
import { readOptionalJson } from "../body.ts";
import { replyJson } from "../exchange.ts";
import { answer, IsoTimestamp, Message } from "../public/reference.ts";
import { ApplicationId, existing, readApplicationId } from "./application-fields.ts";
import type { ApplicationRouteOptions } from "./applications.ts";
import type { AdminListener } from "./base.ts";
import { adminOperation, closed, grouped } from "./reference.ts";

const RotationInput = closedObject(
  {
    overlap_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: rotationLimits.maxOverlapSeconds,
        default: rotationLimits.defaultOverlapSeconds,
        description: "For how long every older secret stays good, at most; 0: it ends at once.",
      }),
    ),
  },
  { $id: "RotationInput", description: "How long the older secrets stay good." },
);

const overlapUntil = Type.Union([IsoTimestamp, Type.Null()], {
  description: "Until then older secrets are good, too; null: they are not.",
});

const TokenInput = closedObject(
  {
    scopes: Type.Optional(
      Type.Array(Type.String({ maxLength: 100 }), {
        maxItems: 20,
        description: "All that the application may have, if left out.",
      }),
    ),
    expires_in: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: appTokenLifetimeMs / second,
        default: appTokenLifetimeMs / second,
        description: "Seconds for which it is good.",
      }),
    ),
  },
  { $id: "TokenInput", description: "Which token to make." },
);

const tokenFields = {
  user_id: Type.Union([Id, Type.Null()], { description: "Whom it stands for; null: the application alone." }),
  scopes: Type.Array(Type.String(), { description: "What it may do." }),
  expires_at: about(IsoTimestamp, "When it ends."),
};

const TokenSchema = Type.Object(tokenFields, {
  $id: "Token",
  description: "An access token, without itself.",
  ...closed,
});

const maxListedTokens = 1_000;
const exampleToken = {
  user_id: null,
  scopes: ["users:read", "events:subscribe"],
  expires_at: "2026-03-15T16:08:06.123Z",
};

/** The secrets and the access tokens of an application. */
export function credentialRoutes(app: AdminListener, options: ApplicationRouteOptions): void {
  rotationRoutes(app, options);
  tokenRoutes(app, options);
}

function rotationRoutes(app: AdminListener, { store, now }: ApplicationRouteOptions): void {
  const rotationOf = ({ overlap_seconds }: Static<typeof RotationInput>): Rotation => {
    return { now: now(), overlapMs: (overlap_seconds ?? rotationLimits.defaultOverlapSeconds) * second };
  };
  const endOf = ({ now: at, overlapMs }: Rotation) => (overlapMs === 0 ? null : isoTime(at + overlapMs));
  const kinds = [
    {
      field: "client_secret",
      id: "rotateClientSecret",
      answerName: "NewClientSecret",
      summary: "Rotate Client Secret",
      meanwhile: "both are accepted",
      example: "onair_cs_…",
      async rotate(id: string, rotation: Rotation) {
        const secret = newSecret("onair_cs_");
        existing(await store.applications.rotateClientSecret(id, secretHash(secret), rotation));
        return secret;
      },
    },
    {
      field: "webhook_secret",
      id: "rotateWebhookSecret",
      answerName: "NewWebhookSecret",
      summary: "Rotate Webhook Secret",
      meanwhile: "every delivery is signed with both",
      example: "whsec_…",
      async rotate(id: string, rotation: Rotation) {
        const secret = newWebhookSecret();
        existing(await store.applications.rotateWebhookSecret(id, secret, rotation));
        return secret;
      },
    },
  ] as const;

  for (const { field, id: operationId, answerName, summary, meanwhile, example, rotate } of kinds) {
    app.post(
      `/admin/v1/applications/:id/${field.replace("_", "-")}`,
      async ({ exchange, request, params }) => {
        const id = readApplicationId(params.id);
        const rotation = rotationOf(await readOptionalJson(request, RotationInput));
        const secret = await rotate(id, rotation);
        return replyJson(exchange, 200, { id, [field]: secret, overlap_until: endOf(rotation) });
      },
      adminOperation({
        id: operationId,
        tag: "Applications",
        summary,
        description: `Makes a new secret, which is shown only now. While the overlap lasts, ${meanwhile}.`,
        params: ApplicationId,
        body: { json: { schema: RotationInput, example: { overlap_seconds: 3600 } }, optional: true },
        answers: {
          200: answer("The new secret.", {
            schema: Type.Object(
              {
                id: ApplicationId.properties.id,
                [field]: Type.String({ description: "Shown only here." }),
                overlap_until: overlapUntil,
              },
              { $id: answerName, description: "A new secret.", ...closed },
            ),
            example: {
              id: "01KATHZX5M9S3E6R8B2D4F7G1H",
              [field]: example,
              overlap_until: "2026-01-14T17:08:06.123Z",
            },
          }),
        },
        errors: ["not_found", "conflict"],
      }),
    );
  }
}

function tokenRoutes(app: AdminListener, { store, now }: ApplicationRouteOptions): void {
  const path = "/admin/v1/applications/:id/tokens";
  const tag = "Tokens";

  app.post(
    path,
    async ({ exchange, request, params }) => {
      const id = readApplicationId(params.id);
      const input = await readOptionalJson(request, TokenInput);
      const application = existing(await store.applications.find(id));
      const scopes = input.scopes ? parseScopes(input.scopes.join(" ")) : application.scopes;
      if (!scopes?.every((scope) => application.scopes.includes(scope))) {
        const message = `may hold what the application may have: ${application.scopes.join(", ") || "nothing"}`;
        throw invalidFields([{ in: "body", field: "scopes", message }]);
      }
      const token = newSecret("onair_at_");
      const expiresAt = now() + (input.expires_in ? input.expires_in * second : appTokenLifetimeMs);
      const grant = { applicationId: id, userId: null, scopes, expiresAt };
      await store.tokens.create(secretHash(token), grant);
      const made = { access_token: token, user_id: null, scopes, expires_at: isoTime(expiresAt) };
      return replyJson(exchange, 201, made);
    },
    adminOperation({
      id: "createToken",
      tag,
      summary: "Create Token",
      description: `Makes an access token of an application without its client secret, as for a test or a tool of the platform. Of the tokens of an application itself the newest ${grouped(appTokensKept)} are good.`,
      params: ApplicationId,
      body: {
        json: { schema: TokenInput, example: { scopes: ["users:read"], expires_in: 3600 } },
        optional: true,
      },
      answers: {
        201: answer("The token, which is shown only now.", {
          schema: Type.Object(
            { access_token: Type.String({ description: "Shown only here." }), ...tokenFields },
            { $id: "NewToken", description: "An access token.", ...closed },
          ),
          example: { access_token: "onair_at_…", ...exampleToken },
        }),
      },
      errors: ["not_found"],
    }),
  );

  app.get(
    path,
    async ({ exchange, params }) => {
      const { id } = existing(await store.applications.find(readApplicationId(params.id)));
      const found = await store.tokens.ofApplication(id, now(), maxListedTokens);
      const data = found.map(({ userId, scopes, expiresAt }) => {
        return { user_id: userId, scopes, expires_at: isoTime(expiresAt) };
      });
      return replyJson(exchange, 200, { data, message: "OK" });
    },
    adminOperation({
      id: "getTokens",
      tag,
      summary: "List Tokens",
      description: `The access tokens of an application, as far as they are known: only their hashes are kept. The first ${grouped(maxListedTokens)} to expire.`,
      params: ApplicationId,
      answers: {
        200: answer("What each token is for.", {
          schema: Type.Object(
            { data: Type.Array(TokenSchema, { description: "The newest first." }), message: Message },
            { $id: "TokenList", description: "Tokens of an application.", ...closed },
          ),
          example: { data: [exampleToken], message: "OK" },
        }),
      },
      errors: ["not_found"],
    }),
  );

  app.delete(
    path,
    async ({ exchange, params }) => {
      const { id } = existing(await store.applications.find(readApplicationId(params.id)));
      const revoked = await store.tokens.removeOfApplication(id);
      return replyJson(exchange, 200, { revoked, message: "OK" });
    },
    adminOperation({
      id: "revokeTokens",
      tag,
      summary: "Revoke Tokens",
      description: "Ends all access tokens of an application at once. Its subscriptions stay.",
      params: ApplicationId,
      answers: {
        200: answer("How many there were.", {
          schema: Type.Object(
            { revoked: Type.Integer({ description: "How many there were." }), message: Message },
            { $id: "RevokedTokens", description: "How many tokens were revoked.", ...closed },
          ),
          example: { revoked: 2, message: "OK" },
        }),
      },
      errors: ["not_found"],
    }),
  );
}
