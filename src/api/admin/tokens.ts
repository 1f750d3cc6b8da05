import { Type } from "@sinclair/typebox";
import { DomainError, invalidFields } from "../../domain/errors.ts";
import { exampleUser } from "../../domain/examples.ts";
import { grouped } from "../../domain/text.ts";
import { isoTime, second } from "../../domain/time.ts";
import {
  appTokenLifetimeMs,
  appTokensKept,
  newSecret,
  parseScopes,
  secretHash,
} from "../../domain/tokens.ts";
import { about, Id, nullable } from "../../domain/validation/fields.ts";
import { answer, listOf, noContent } from "../http/answers.ts";
import { existing } from "../http/errors.ts";
import { IdParameter, IsoTimestamp, Message, named, noOtherFields } from "../http/parameters.ts";
import { ApplicationIdParameter, ApplicationParams, exampleApplication } from "./application-fields.ts";
import { type AdminDeps, type AdminListener, operators, readers } from "./listener.ts";

const TokenInput = Type.Object(
  {
    scopes: Type.Optional(
      Type.Array(Type.String({ maxLength: 100 }), {
        maxItems: 20,
        description: "Scopes of the token. The default is all scopes of the application.",
      }),
    ),
    expires_in: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: appTokenLifetimeMs / second,
        default: appTokenLifetimeMs / second,
        description: "Lifetime of the token, in seconds.",
      }),
    ),
  },
  {
    $id: "TokenInput",
    description: "The token to create.",
    ...noOtherFields,
    examples: [{ scopes: ["users:read"], expires_in: 3600 }],
  },
);

const tokenFields = {
  user_id: nullable(Id, { description: "Id of the user; null for a token of the application itself." }),
  scopes: Type.Array(Type.String(), { description: "Scopes of the token." }),
  expires_at: about(IsoTimestamp, "Expiry time of the token."),
};

const TokenSchema = named("Token", "An access token, without the token itself.", tokenFields);

const exampleToken = {
  user_id: null,
  scopes: ["users:read", "events:subscribe"],
  expires_at: "2026-03-15T16:08:06.123Z",
};

const NewToken = answer(
  { access_token: Type.String({ description: "The token itself, shown only once." }), ...tokenFields },
  {
    name: "NewToken",
    description: "The new token.",
    example: { access_token: "onair_at_…", ...exampleToken },
  },
);

export const Tokens = listOf(TokenSchema, {
  order: "Tokens, the first to expire first.",
  description: "The tokens, without the tokens themselves.",
  example: exampleToken,
});

const Revoked = answer(
  { revoked: Type.Integer({ description: "Number of revoked tokens." }), message: Message },
  {
    name: "RevokedTokens",
    description: "The number of revoked tokens.",
    example: { revoked: 2, message: "OK" },
  },
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
        description: `Creates an access token of an application without its client secret, for example for tests or tools of the platform. Only the newest ${grouped(appTokensKept)} tokens of the application itself remain valid.`,
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
        description: `Returns the access tokens of an application, without the tokens themselves: only hashes are stored. The list has the ${grouped(maxListedTokens)} that expire first.`,
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
        description:
          "Revokes all access tokens of an application at once. Its subscriptions are not changed.",
      },
    },
  );
}

const ConsentSchema = named("Consent", "A user's consent to an application.", {
  application_id: Type.String({ description: "Id of the application." }),
  application_name: Type.String({ description: "Name of the application." }),
  scopes: Type.Array(Type.String(), { description: "Scopes that the user granted." }),
  created_at: IsoTimestamp,
  updated_at: IsoTimestamp,
});

const exampleConsent = {
  application_id: exampleApplication.id,
  application_name: exampleApplication.name,
  scopes: ["users:read"],
  created_at: "2026-01-14T16:08:06.123Z",
  updated_at: "2026-01-14T16:08:06.123Z",
};

const Consents = listOf(ConsentSchema, {
  order: "Consents, by application.",
  description: "The consents of the user.",
  example: exampleConsent,
});

/** Consents that users gave to applications: list and revoke. */
export function consentRoutes(app: AdminListener, { store, now }: AdminDeps): void {
  app.get(
    "/admin/v1/users/:id/consents",
    async ({ params: { id } }) => {
      if (!(await store.users.exists(id)))
        throw new DomainError("user_not_found", "There is no user with this id");
      return { data: await store.consents.ofUser(id), message: "OK" };
    },
    {
      roles: readers,
      params: Type.Object({ id: IdParameter("user", exampleUser.id) }),
      response: { 200: Consents },
      errors: ["user_not_found"],
      detail: {
        operationId: "getConsents",
        tags: ["Sign-in"],
        summary: "List Consents",
        description: "Returns the stored consents of a user, one for each application.",
      },
    },
  );

  // Idempotent. Also revokes tokens for which no consent was stored.
  app.delete(
    "/admin/v1/users/:id/consents/:application_id",
    async ({ params: { id, application_id }, status }) => {
      await store.consents.revoke(id, application_id, now());
      return status(204, undefined);
    },
    {
      roles: operators,
      params: Type.Object({
        id: IdParameter("user", exampleUser.id),
        application_id: ApplicationIdParameter,
      }),
      response: { 204: noContent("The application has no access to the user.") },
      detail: {
        operationId: "revokeConsent",
        tags: ["Sign-in"],
        description:
          "Revokes the codes and tokens and deletes the subscriptions that an application has for a user, whether the consent was stored or not.",
      },
    },
  );
}
