import { type Static, Type } from "@sinclair/typebox";
import type { Application } from "../../domain/applications.ts";
import { DomainError } from "../../domain/errors.ts";
import { exampleUser } from "../../domain/examples.ts";
import { grouped } from "../../domain/text.ts";
import { day, hour, second } from "../../domain/time.ts";
import {
  appTokenLifetimeMs,
  appTokensKept,
  type Exchanged,
  isCodeVerifier,
  type NewTokens,
  newSecret,
  refreshTokensAnHour,
  type ScopeName,
  scopes,
  scopesWithin,
  secretHash,
  type TokenRecord,
  userTokenLifetimeMs,
} from "../../domain/tokens.ts";
import type { User } from "../../domain/users.ts";
import { about } from "../../domain/validation/fields.ts";
import { answer, answerOf } from "../http/answers.ts";
import { OAuthError, oauthPaths } from "../http/errors.ts";
import {
  clientFields,
  exampleClientId,
  exampleRedirectUri,
  exampleRefreshToken,
  exampleToken,
  Form,
  FormByGrantType,
  optional,
  readScopes,
  requireClientStill,
  scopeField,
  TokenToLookAt,
  text,
} from "../http/oauth.ts";
import { exampleUrl } from "../http/openapi.ts";
import { named, WebUrl } from "../http/parameters.ts";
import type { PublicDeps, PublicListener, TokenListener } from "../public/listener.ts";
import { withPicture } from "../public/users.ts";

/*
 * The endpoints of tokens: creation, introspection, revocation, and the user of a token.
 */

const grantType = <Name extends string>(name: Name) => Type.Literal(name, { description: "Grant type." });

const ClientCredentialsForm = Form(
  {
    grant_type: grantType("client_credentials"),
    ...scopeField("The default is all scopes of the application."),
    ...clientFields,
  },
  { $id: "ClientCredentialsForm", description: "Requests a token of the application itself." },
);

const AuthorizationCodeForm = Form(
  {
    grant_type: grantType("authorization_code"),
    code: text("The `code` that the redirect URI received."),
    code_verifier: Type.String({
      minLength: 43,
      maxLength: 128,
      pattern: "^[A-Za-z0-9._~-]+$",
      description:
        "Code verifier that belongs to the `code_challenge` of the authorization request (RFC 7636).",
    }),
    redirect_uri: optional("If present, it must be the one of the authorization request."),
    ...clientFields,
  },
  { $id: "AuthorizationCodeForm", description: "Requests the first tokens of a user who has consented." },
);

const RefreshTokenForm = Form(
  {
    grant_type: grantType("refresh_token"),
    refresh_token: text("The latest refresh token of the sign-in."),
    ...scopeField("The default is all scopes that the user granted."),
    ...clientFields,
  },
  { $id: "RefreshTokenForm", description: "Requests new tokens of a user." },
);

const TokenForm = FormByGrantType([ClientCredentialsForm, AuthorizationCodeForm, RefreshTokenForm], {
  $id: "TokenForm",
  description: "Requests a token. `grant_type` determines which other fields are required.",
  example: {
    grant_type: "authorization_code",
    code: "onair_ac_p4dJ0sF8gA3eK7qX9Mu8Q0xk3m9Zb7cT1vR5yW2nH6w",
    // RFC 7636, appendix B.
    code_verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
    redirect_uri: exampleRedirectUri,
    client_id: exampleClientId,
  },
});

const AccessTokenSchema = named("AccessToken", "An access token (RFC 6749, section 5.1).", {
  access_token: text("Access token. Send it as `Authorization: Bearer <access_token>`."),
  token_type: Type.Literal("Bearer", { description: "Type of the token." }),
  expires_in: Type.Integer({ description: "Lifetime of the access token, in seconds." }),
  refresh_token: optional(
    "Refresh token, which can be exchanged for new tokens within 30 days. Only for tokens of a user.",
  ),
  scope: text("Scopes of the token, separated by spaces, under the names of the request."),
});
type TokenAnswer = Readonly<Static<typeof AccessTokenSchema>>;

const AccessToken = answerOf(AccessTokenSchema, {
  description: `The new token. A token of an application is valid for ${appTokenLifetimeMs / day} days; earlier ones remain valid, but only the newest ${grouped(appTokensKept)} are kept. A token of a user is valid for ${userTokenLifetimeMs / hour} hours.`,
  example: {
    access_token: exampleToken,
    token_type: "Bearer",
    expires_in: userTokenLifetimeMs / 1000,
    refresh_token: exampleRefreshToken,
    scope: scopes.join(" "),
  },
});

/** `POST /oauth/token` (RFC 6749, section 3.2). */
export function tokenRoute(app: PublicListener, deps: PublicDeps): void {
  app.post(
    oauthPaths.token,
    async ({ body, oauthClient, requestContext }) => {
      if (body.grant_type === "client_credentials") {
        const answer = await clientCredentials(deps, oauthClient, body);
        await requireClientStill(deps, requestContext, secretHash(answer.access_token));
        return answer;
      }
      if (body.grant_type === "authorization_code") return authorizationCode(deps, oauthClient, body);
      return refreshToken(deps, oauthClient, body);
    },
    {
      oauthClient: "any",
      body: TokenForm,
      response: { 200: AccessToken },
      errors: [
        "invalid_request",
        "invalid_grant",
        "unauthorized_client",
        "unsupported_grant_type",
        "invalid_scope",
      ],
      detail: {
        operationId: "createToken",
        tags: ["Tokens"],
        summary: "Get an access token",
        description:
          "Returns a token of the application itself (`client_credentials`), or tokens of a user in exchange for a code (`authorization_code`) or a refresh token (`refresh_token`; RFC 6749). The application authenticates either with HTTP Basic or with `client_id` and `client_secret` in the form. A `Bearer` header is ignored. A public client sends only its `client_id`. Errors have `error` and `error_description` as in RFC 6749, in addition to the usual fields.\n\nEach refresh token can be exchanged once. It works for another 60 seconds, for clients that lost the response, until one of the refresh tokens that were given for it is exchanged: the others then end with their access tokens. If any of these is used later, all tokens of the same sign-in are revoked. A sign-in can have at most 60 new refresh tokens per hour. Beyond that, the response is 429 with `Retry-After`, and the refresh token remains valid.",
      },
    },
  );
}

/** Creates a token of the application itself (RFC 6749, section 4.4), for confidential clients only. */
async function clientCredentials(
  { store, now }: PublicDeps,
  application: Application,
  { scope }: Static<typeof ClientCredentialsForm>,
): Promise<TokenAnswer> {
  if (application.client_type === "public") {
    throw new OAuthError("unauthorized_client", "A public client cannot get a token of its own");
  }
  const scopes = readScopes(scope, application.scopes);
  const token = newSecret("onair_at_");
  const createdAt = now();
  const expiresAt = createdAt + appTokenLifetimeMs;
  const grant = { applicationId: application.id, userId: null, scopes, createdAt, expiresAt };
  await store.tokens.create(secretHash(token), grant);
  return tokenAnswer(token, appTokenLifetimeMs, scopes);
}

/** Creates the first tokens for an authorization code (RFC 6749, section 4.1.3; RFC 7636, section 4.5). */
function authorizationCode(
  deps: PublicDeps,
  application: Application,
  { code, code_verifier: codeVerifier, redirect_uri }: Static<typeof AuthorizationCodeForm>,
) {
  if (!isCodeVerifier(codeVerifier)) {
    throw new OAuthError(
      "invalid_grant",
      "code_verifier must have 43 to 128 characters: letters, digits, -, ., _ and ~",
    );
  }
  const presented = { applicationId: application.id, redirectUri: redirect_uri ?? null, codeVerifier };
  return userTokens(deps, application, (tokens) => {
    return deps.store.tokens.redeemCode(secretHash(code), presented, tokens, deps.now());
  });
}

/** Creates new tokens for a refresh token, which is replaced (RFC 6749, section 6; RFC 9700, section 4.14.2). */
function refreshToken(
  deps: PublicDeps,
  application: Application,
  { refresh_token: token, scope }: Static<typeof RefreshTokenForm>,
) {
  const scopes = scope === undefined ? null : readScopes(scope, application.scopes);
  return userTokens(deps, application, (tokens) => {
    const wanted = { applicationId: application.id, scopes };
    return deps.store.tokens.refresh(secretHash(token), wanted, tokens, deps.now());
  });
}

/** The message for an authorization code or refresh token that cannot be exchanged. */
export const notExchanged =
  "The code or refresh token is unknown, expired or revoked, or was issued for another client, redirect_uri or code_verifier";

async function userTokens(
  { log }: PublicDeps,
  application: Application,
  exchange: (tokens: NewTokens) => Promise<Exchanged>,
): Promise<TokenAnswer> {
  const accessToken = newSecret("onair_at_");
  const newRefreshToken = newSecret("onair_rt_");
  const result = await exchange({
    accessHash: secretHash(accessToken),
    refreshHash: secretHash(newRefreshToken),
  });
  if ("grant" in result) {
    const scopes = scopesWithin(result.grant.scopes, application.scopes);
    return tokenAnswer(accessToken, userTokenLifetimeMs, scopes, newRefreshToken);
  }
  if (result.refused === "exceeded") {
    throw new OAuthError("invalid_scope", "The user did not grant all of these scopes");
  }
  if (result.refused === "limited") {
    throw new DomainError(
      "rate_limited",
      `A sign-in can have at most ${refreshTokensAnHour} refresh tokens per hour; an access token is valid for ${userTokenLifetimeMs / hour} hours`,
      { retryAfterSeconds: Math.ceil(result.retryAfterMs / second) },
    );
  }
  if (result.refused === "invalid") throw new OAuthError("invalid_grant", notExchanged);
  log.warn("token_reused", { application_id: application.id });
  throw new OAuthError(
    "invalid_grant",
    "The code or refresh token was already used; all tokens of its sign-in are revoked",
  );
}

function tokenAnswer(
  accessToken: string,
  lifetimeMs: number,
  scopes: readonly ScopeName[],
  newRefreshToken?: string,
): TokenAnswer {
  return {
    access_token: accessToken,
    token_type: "Bearer",
    expires_in: lifetimeMs / 1000,
    ...(newRefreshToken !== undefined && { refresh_token: newRefreshToken }),
    scope: scopes.join(" "),
  };
}

const IntrospectionSchema = named("Introspection", "RFC 7662, section 2.2.", {
  active: Type.Boolean({ description: "Whether the token is valid and belongs to the calling application." }),
  scope: optional(
    "Scopes of the token that the application still has, separated by spaces. Absent if there are none.",
  ),
  client_id: optional("Client id of the application."),
  token_type: Type.Optional(
    Type.Literal("Bearer", { description: "Type of an access token. Absent for a refresh token." }),
  ),
  exp: Type.Optional(Type.Integer({ description: "Expiry time, in Unix seconds." })),
  sub: optional("Id of the user. Absent for a token of the application itself."),
  username: optional("Username of the user. Absent for a token of the application itself."),
  iss: optional("URL of this server, the issuer."),
});

const Introspection = answerOf(IntrospectionSchema, {
  description: "The state of the token.",
  example: {
    active: true,
    scope: scopes.join(" "),
    client_id: exampleClientId,
    token_type: "Bearer",
    exp: 1_768_414_086,
    sub: String(exampleUser.id),
    username: exampleUser.username,
    iss: "http://127.0.0.1:8080",
  },
});

/**
 * `POST /oauth/introspect` (RFC 7662). An application can inspect only its own tokens. All others are not active
 * (section 2.2), whether they exist or not.
 */
export function introspectRoute(app: PublicListener, deps: PublicDeps): void {
  const { store, now, publicUrl } = deps;
  const describe = (token: TokenRecord, scopes: readonly ScopeName[], user: User | null) => ({
    active: true,
    ...(scopes.length > 0 && { scope: scopes.join(" ") }),
    client_id: token.applicationId,
    ...(token.kind === "access_token" && { token_type: "Bearer" as const }),
    exp: Math.floor(token.expiresAt / 1000),
    ...(user && { sub: String(user.id), username: user.username }),
    iss: publicUrl(),
  });

  app.post(
    oauthPaths.introspect,
    async ({ body, oauthClient }) => {
      const token = await store.tokens.inspect(secretHash(body.token), now());
      if (token?.applicationId !== oauthClient.id) return { active: false };
      const scopes = scopesWithin(token.scopes, oauthClient.scopes);
      if (token.userId === null) return describe(token, scopes, null);
      const [user] = await store.users.byIds([token.userId]);
      // The tokens of a user are removed with the user.
      return user ? describe(token, scopes, user) : { active: false };
    },
    {
      oauthClient: "any",
      body: TokenToLookAt({ token: exampleToken }),
      response: { 200: Introspection },
      errors: ["invalid_request"],
      detail: {
        operationId: "introspectToken",
        tags: ["Tokens"],
        summary: "Introspect a token",
        description:
          "Returns the state, scopes, expiry time and user of a token of the calling application (RFC 7662). A public client sends only its `client_id`. Any other token is reported as not active.",
      },
    },
  );
}

/** An empty object in place of the empty body of RFC 7009, because some clients parse every response as JSON. */
const Revoked = answer({}, { name: "RevokedToken", description: "The token is not valid.", example: {} });

/**
 * `POST /oauth/revoke` (RFC 7009): revokes an access token, or a refresh token and all tokens of its authorization. An
 * unknown token is not an error (section 2.2).
 */
export function revokeRoute(app: PublicListener, { store }: PublicDeps): void {
  app.post(
    oauthPaths.revoke,
    async ({ body: { token }, oauthClient }) => {
      const result = await store.tokens.revoke(secretHash(token), oauthClient.id);
      if (result === "foreign") {
        throw new OAuthError("invalid_grant", "The token was issued to another client");
      }
      return {};
    },
    {
      oauthClient: "any",
      body: TokenToLookAt({ token: exampleRefreshToken, client_id: exampleClientId }),
      response: { 200: Revoked },
      errors: ["invalid_request", "invalid_grant"],
      detail: {
        operationId: "revokeToken",
        tags: ["Tokens"],
        summary: "Revoke a token",
        description:
          "Revokes a token of the calling application (RFC 7009). A public client sends only its `client_id`. The response is an empty JSON object. Revoking a refresh token also revokes all other tokens of the same sign-in. An unknown token is not an error.",
      },
    },
  );
}

const UserInfoSchema = named(
  "UserInfo",
  "The user who signed in, with claims of OpenID Connect (Core 1.0, section 5.1).",
  {
    sub: Type.String({ description: "Id of the user, as a string." }),
    preferred_username: Type.String({ description: "Username, which the platform may change." }),
    name: Type.String({ description: "Name to display." }),
    picture: about(WebUrl, "URL of the profile picture; a default picture when the user has none."),
  },
);

const UserInfo = answerOf(UserInfoSchema, {
  description: "The user of the token.",
  example: {
    sub: String(exampleUser.id),
    preferred_username: exampleUser.username,
    name: exampleUser.display_name,
    picture: withPicture(exampleUser, { publicUrl: () => exampleUrl }).profile_picture,
  },
});

/** `GET /oauth/userinfo` (OpenID Connect Core 1.0, section 5.3): the user of a user token, whatever its scopes are. */
export function userInfoRoute(app: TokenListener, { store, publicUrl }: PublicDeps): void {
  app.get(
    "/oauth/userinfo",
    async ({ caller: { grant } }) => {
      const [user] = await store.users.byIds([grant.userId].filter((id) => id !== null));
      // The user was removed after the token was checked.
      if (!user) throw new DomainError("invalid_token", "The user of this access token does not exist");
      return {
        sub: String(user.id),
        preferred_username: user.username,
        name: user.display_name,
        picture: withPicture(user, { publicUrl }).profile_picture,
      };
    },
    {
      user: true,
      response: { 200: UserInfo },
      detail: {
        operationId: "getUserInfo",
        tags: ["Tokens"],
        summary: "Get the user who signed in",
        description:
          "Returns who the user of a user token is. The token needs no particular scope. For the whole profile, use Get Users without `id`.",
      },
    },
  );
}
