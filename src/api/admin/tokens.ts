import { Type } from "@sinclair/typebox";
import { valueChanges } from "../../domain/audit.ts";
import { DomainError, invalidField } from "../../domain/errors.ts";
import { exampleUser } from "../../domain/examples.ts";
import { grouped } from "../../domain/text.ts";
import { isoTime, isoTimeOrNull, second } from "../../domain/time.ts";
import {
  appTokenLifetimeMs,
  appTokensKept,
  newSecret,
  parseScopes,
  secretHash,
  tokenIdPattern,
} from "../../domain/tokens.ts";
import { about, Id, nullable } from "../../domain/validation/fields.ts";
import { answer, listOf, noContent } from "../http/answers.ts";
import { existing, notFound } from "../http/errors.ts";
import {
  IdParameter,
  IsoTimestamp,
  Message,
  named,
  noOtherFields,
  optionalFields,
  TextParameter,
} from "../http/parameters.ts";
import { ApplicationIdParameter, ApplicationParams, exampleApplication } from "./application-fields.ts";
import { type AdminDeps, type AdminListener, operators, readers } from "./listener.ts";

const TokenInput = Type.Object(
  optionalFields({
    scopes: Type.Array(Type.String({ maxLength: 100 }), {
      maxItems: 20,
      description: "Scopes of the token. The default is all scopes of the application.",
    }),
    expires_in: Type.Integer({
      minimum: 1,
      maximum: appTokenLifetimeMs / second,
      default: appTokenLifetimeMs / second,
      description: "Lifetime of the token, in seconds.",
    }),
  }),
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

const exampleToken = {
  user_id: null,
  scopes: ["users:read", "events:subscribe"],
  expires_at: "2026-03-15T16:08:06.123Z",
};

const TokenSchema = named("Token", "An access token, without the token itself.", {
  id: Type.String({
    pattern: tokenIdPattern,
    description: "Id of the token among those of its application.",
  }),
  ...tokenFields,
  username: nullable(Type.String(), {
    description: "Username of the user; null for a token of the application itself.",
  }),
  is_portal_session: Type.Boolean({ description: "Whether the token is a session of the portal." }),
  created_at: about(IsoTimestamp, "Time of its creation."),
  last_used_at: nullable(IsoTimestamp, {
    description: "Time of its last use, accurate to an hour; null if it was never used.",
  }),
});

const exampleListedToken = {
  id: "5f70bf18a086007016e948b0",
  ...exampleToken,
  username: null,
  is_portal_session: false,
  created_at: "2026-01-14T16:08:06.123Z",
  last_used_at: "2026-01-14T17:02:40.871Z",
};

const TokenParams = Type.Object({
  id: ApplicationIdParameter,
  token_id: TextParameter({
    pattern: tokenIdPattern,
    errorMessage: "must be the id of a token, like 5f70bf18a086007016e948b0",
    description: "The `id` of the token in List Tokens, not the token itself.",
    examples: ["5f70bf18a086007016e948b0"],
  }),
});

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
  example: exampleListedToken,
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
    async ({ params: { id }, body, status, requestContext }) => {
      const { scopes: requested, expires_in } = body ?? {};
      const application = existing(await store.applications.find(id));
      const scopes = requested ? parseScopes(requested.join(" ")) : application.scopes;
      if (!scopes?.every((scope) => application.scopes.includes(scope))) {
        const message = `may hold what the application may have: ${application.scopes.join(", ") || "nothing"}`;
        throw invalidField("body", "scopes", message);
      }
      const token = newSecret("onair_at_");
      const createdAt = now();
      const expiresAt = createdAt + (expires_in ? expires_in * second : appTokenLifetimeMs);
      const grant = { applicationId: id, userId: null, scopes, createdAt, expiresAt };
      await store.tokens.create(secretHash(token), grant);
      const initial = { scopes, expires_at: isoTime(expiresAt) };
      requestContext.change = { object_name: application.name, changes: valueChanges(null, initial) };
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
      const data = found.map(({ id, userId, username, scopes, isOfPortal, createdAt, ...times }) => ({
        id,
        user_id: userId,
        username,
        is_portal_session: isOfPortal,
        scopes,
        created_at: isoTime(createdAt),
        last_used_at: isoTimeOrNull(times.lastUsedAt),
        expires_at: isoTime(times.expiresAt),
      }));
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
    async ({ params, requestContext }) => {
      const { id, name } = existing(await store.applications.find(params.id));
      const revoked = await store.tokens.removeOfApplication(id);
      requestContext.change = { object_name: name, changes: valueChanges(null, { revoked }) };
      return { revoked, message: "OK" };
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

  app.delete(
    "/admin/v1/applications/:id/tokens/:token_id",
    async ({ params: { id, token_id }, status, requestContext }) => {
      const { name } = existing(await store.applications.find(id));
      if (!(await store.tokens.removeById(id, token_id))) throw notFound("token");
      requestContext.change = { object_name: name, changes: valueChanges({ token_id }, null) };
      return status(204, undefined);
    },
    {
      roles: operators,
      params: TokenParams,
      response: { 204: noContent("The token was revoked.") },
      errors: ["not_found"],
      detail: {
        operationId: "revokeToken",
        tags: ["Tokens"],
        description:
          "Revokes one access token at once. A token of a user is revoked together with the refresh token and all other tokens of the same sign-in, so that the application cannot replace it.",
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
    async ({ params: { id, application_id }, status, requestContext }) => {
      await store.consents.revoke(id, application_id, now());
      requestContext.change = { object_name: null, changes: valueChanges({ application_id }, null) };
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
