import type { Application } from "../../domain/applications.ts";
import { isCodeVerifier } from "../../domain/authorizations.ts";
import {
  appTokenLifetimeMs,
  newSecret,
  type ScopeName,
  scopesWithin,
  secretHash,
  userTokenLifetimeMs,
} from "../../domain/tokens.ts";
import type { Exchanged, NewTokens } from "../../store/tokens.ts";
import { replyJson } from "../exchange.ts";
import type { PublicDeps, PublicListener } from "../public/base.ts";
import { authenticateClient } from "./client.ts";
import { OAuthError, oauthPaths, uncached } from "./errors.ts";
import { type Parameters, readForm, readScopes, required } from "./parameters.ts";

/** RFC 6749, section 5.1. */
interface TokenAnswer {
  readonly access_token: string;
  readonly token_type: "Bearer";
  /** Seconds. */
  readonly expires_in: number;
  readonly refresh_token?: string;
  readonly scope: string;
}

type GrantHandler = (deps: PublicDeps, application: Application, form: Parameters) => Promise<TokenAnswer>;

const grants: Readonly<Record<string, GrantHandler>> = {
  client_credentials: clientCredentials,
  authorization_code: authorizationCode,
  refresh_token: refreshToken,
};

/** `POST /oauth/token` (RFC 6749, section 3.2). */
export function tokenRoute(app: PublicListener, deps: PublicDeps, detail: object): void {
  app.post(
    oauthPaths.token,
    async ({ exchange, request }) => {
      const form = await readForm(request);
      const application = await authenticateClient(deps, exchange, form);
      const grantType = required(form, "grant_type");
      const grant = Object.hasOwn(grants, grantType) ? grants[grantType] : undefined;
      if (!grant) {
        const known = Object.keys(grants).join(", ");
        throw new OAuthError("unsupported_grant_type", `The supported grant types are ${known}`);
      }
      return replyJson(exchange, 200, await grant(deps, application, form), uncached);
    },
    { access: "anyone", parse: "none", detail },
  );
}

/** A token of the application itself (RFC 6749, section 4.4), for confidential clients only. */
async function clientCredentials(
  { store, now }: PublicDeps,
  application: Application,
  form: Parameters,
): Promise<TokenAnswer> {
  if (application.client_type === "public") {
    throw new OAuthError("unauthorized_client", "A public client cannot get a token of its own");
  }
  const scopes = readScopes(form.get("scope"), application.scopes);
  const token = newSecret("onair_at_");
  const expiresAt = now() + appTokenLifetimeMs;
  const grant = { applicationId: application.id, userId: null, scopes, expiresAt };
  await store.tokens.create(secretHash(token), grant);
  return tokenAnswer(token, appTokenLifetimeMs, scopes);
}

/** The first tokens for an authorization code (RFC 6749, section 4.1.3; RFC 7636, section 4.5). */
function authorizationCode(deps: PublicDeps, application: Application, form: Parameters) {
  const code = required(form, "code");
  const codeVerifier = required(form, "code_verifier");
  if (!isCodeVerifier(codeVerifier)) {
    throw new OAuthError(
      "invalid_grant",
      "code_verifier must have 43 to 128 characters: letters, digits, -, ., _ and ~",
    );
  }
  const redirectUri = form.get("redirect_uri") ?? null;
  const given = { applicationId: application.id, redirectUri, codeVerifier };
  return userTokens(application, (tokens) => {
    return deps.store.tokens.redeemCode(secretHash(code), given, tokens, deps.now());
  });
}

/** New tokens for a refresh token, which is replaced (RFC 6749, section 6; RFC 9700, section 4.14.2). */
function refreshToken(deps: PublicDeps, application: Application, form: Parameters) {
  const token = required(form, "refresh_token");
  const asked = form.get("scope");
  const scopes = asked === undefined ? null : readScopes(asked, application.scopes);
  return userTokens(application, (tokens) => {
    const given = { applicationId: application.id, scopes };
    return deps.store.tokens.refresh(secretHash(token), given, tokens, deps.now());
  });
}

async function userTokens(
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
    const shown = scopesWithin(result.grant.scopes, application.scopes);
    return tokenAnswer(accessToken, userTokenLifetimeMs, shown, newRefreshToken);
  }
  if (result.refused === "exceeded") {
    throw new OAuthError("invalid_scope", "The user did not grant all of these scopes");
  }
  throw new OAuthError(
    "invalid_grant",
    result.refused === "reused"
      ? "The code or refresh token was used before; everything that came of it is revoked"
      : "The code or refresh token is unknown, expired or revoked, or does not belong to this request",
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
