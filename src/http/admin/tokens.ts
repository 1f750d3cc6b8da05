import { Type } from "@sinclair/typebox";
import { invalidFields } from "../../domain/errors.ts";
import { isoTime, second } from "../../domain/time.ts";
import {
  appTokenLifetimeMs,
  appTokensKept,
  newSecret,
  parseScopes,
  secretHash,
} from "../../domain/tokens.ts";
import { about, Id, nullable } from "../../domain/validation/fields.ts";
import { grouped } from "../../domain/validation/text.ts";
import { answer, listOf } from "../answers.ts";
import { existing } from "../errors.ts";
import { IsoTimestamp, Message, named, noOtherFields } from "../fields.ts";
import { operators, readers } from "./access.ts";
import { ApplicationParams } from "./application-fields.ts";
import type { AdminDeps, AdminListener } from "./base.ts";

const TokenInput = Type.Object(
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
  {
    $id: "TokenInput",
    description: "Which token to make.",
    ...noOtherFields,
    examples: [{ scopes: ["users:read"], expires_in: 3600 }],
  },
);

const tokenFields = {
  user_id: nullable(Id, { description: "Whom it stands for; null: the application alone." }),
  scopes: Type.Array(Type.String(), { description: "What it may do." }),
  expires_at: about(IsoTimestamp, "When it ends."),
};

const TokenSchema = named("Token", "An access token, without itself.", tokenFields);

const exampleToken = {
  user_id: null,
  scopes: ["users:read", "events:subscribe"],
  expires_at: "2026-03-15T16:08:06.123Z",
};

const NewToken = answer(
  { access_token: Type.String({ description: "Shown only here." }), ...tokenFields },
  {
    name: "NewToken",
    description: "The token, which is shown only now.",
    example: { access_token: "onair_at_…", ...exampleToken },
  },
);

export const Tokens = listOf(TokenSchema, {
  order: "All of them.",
  description: "What each token is for.",
  example: exampleToken,
});

const Revoked = answer(
  { revoked: Type.Integer({ description: "How many tokens were ended." }), message: Message },
  { name: "RevokedTokens", description: "How many there were.", example: { revoked: 2, message: "OK" } },
);

const maxListedTokens = 1_000;

/** The access tokens of an application. */
export function tokenRoutes(app: AdminListener, { store, now }: AdminDeps): void {
  app.post(
    "/admin/v1/applications/:id/tokens",
    async ({ params: { id }, body, status }) => {
      const { scopes: requested, expires_in } = body ?? {};
      const application = existing(await store.applications.find(id));
      const scopes = requested ? parseScopes(requested.join(" ")) : application.scopes;
      if (!scopes?.every((scope) => application.scopes.includes(scope))) {
        const message = `may hold what the application may have: ${application.scopes.join(", ") || "nothing"}`;
        throw invalidFields([{ in: "body", field: "scopes", message }]);
      }
      const token = newSecret("onair_at_");
      const expiresAt = now() + (expires_in ? expires_in * second : appTokenLifetimeMs);
      const grant = { applicationId: id, userId: null, scopes, expiresAt };
      await store.tokens.create(secretHash(token), grant);
      return status(201, { access_token: token, user_id: null, scopes, expires_at: isoTime(expiresAt) });
    },
    {
      roles: operators,
      params: ApplicationParams,
      body: Type.Optional(TokenInput),
      response: { 201: NewToken },
      errors: ["not_found"],
      detail: {
        operationId: "createToken",
        tags: ["Tokens"],
        description: `Makes an access token of an application without its client secret, as for a test or a tool of the platform. Of the tokens of an application itself the newest ${grouped(appTokensKept)} are good.`,
      },
    },
  );

  app.get(
    "/admin/v1/applications/:id/tokens",
    async ({ params }) => {
      const { id } = existing(await store.applications.find(params.id));
      const found = await store.tokens.ofApplication(id, now(), maxListedTokens);
      const data = found.map(({ userId, scopes, expiresAt }) => {
        return { user_id: userId, scopes, expires_at: isoTime(expiresAt) };
      });
      return { data, message: "OK" };
    },
    {
      roles: readers,
      params: ApplicationParams,
      response: { 200: Tokens },
      errors: ["not_found"],
      detail: {
        operationId: "getTokens",
        tags: ["Tokens"],
        summary: "List Tokens",
        description: `The access tokens of an application, as far as they are known: only their hashes are kept. The first ${grouped(maxListedTokens)} to expire.`,
      },
    },
  );

  app.delete(
    "/admin/v1/applications/:id/tokens",
    async ({ params }) => {
      const { id } = existing(await store.applications.find(params.id));
      return { revoked: await store.tokens.removeOfApplication(id), message: "OK" };
    },
    {
      roles: operators,
      params: ApplicationParams,
      response: { 200: Revoked },
      errors: ["not_found"],
      detail: {
        operationId: "revokeTokens",
        tags: ["Tokens"],
        description: "Ends all access tokens of an application at once. Its subscriptions stay.",
      },
    },
  );
}
