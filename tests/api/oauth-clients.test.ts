import { expect, test } from "bun:test";
import * as oauth from "oauth4webapi";
import { Browser, parameter, signInServer } from "../support/oauth.ts";
import type { TestApplication } from "../support/server.ts";

/*
 * The library oauth4webapi, as it is, against a running server. It checks each answer itself and throws where one is
 * not as its RFC says.
 */

const http = { [oauth.allowInsecureRequests]: true };
const web = "https://app.example/callback";
const native = "http://127.0.0.1:51234/callback";

const { server, accept } = await signInServer();
const url = new URL(server.publicUrl);
const found = await oauth.discoveryRequest(url, { ...http, algorithm: "oauth2" });
const issuer = await oauth.processDiscoveryResponse(url, found);

const username = async (accessToken: string) => {
  const url = new URL("/public/v1/users/xqcow", server.publicUrl);
  const answer = await oauth.protectedResourceRequest(accessToken, "GET", url, undefined, undefined, http);
  return ((await answer.json()) as { user: { username: string } }).user.username;
};

type Way = "client_secret_basic" | "client_secret_post" | "none";
const ways: [Way][] = [["client_secret_basic"], ["client_secret_post"], ["none"]];

function authentication(way: Way, { client_secret }: TestApplication): oauth.ClientAuth {
  if (way === "client_secret_basic") return oauth.ClientSecretBasic(client_secret);
  return way === "client_secret_post" ? oauth.ClientSecretPost(client_secret) : oauth.None();
}

async function clientFor(way: Way) {
  const isPublic = way === "none";
  const application = await server.application({
    client_type: isPublic ? "public" : "confidential",
    redirect_uris: [isPublic ? "http://127.0.0.1/callback" : web],
  });
  const client: oauth.Client = { client_id: application.client_id };
  return { client, auth: authentication(way, application), redirectUri: isPublic ? native : web };
}

/** What a program does until it has the address that the browser came back with. */
async function authorize(client: oauth.Client, redirectUri: string, answer: "accept" | "reject") {
  const codeVerifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const url = new URL(issuer.authorization_endpoint ?? "");
  url.searchParams.set("client_id", client.client_id);
  url.searchParams.set("redirect_uri", redirectUri);
  url.searchParams.set("response_type", "code");
  url.searchParams.set("scope", "users:read events:subscribe");
  url.searchParams.set("state", state);
  url.searchParams.set("code_challenge", await oauth.calculatePKCECodeChallenge(codeVerifier));
  url.searchParams.set("code_challenge_method", "S256");
  const browser = new Browser(server);
  const challenge = parameter((await browser.open(url.href)).location, "login_challenge");
  let back: string;
  if (answer === "accept") back = await accept(challenge, { user_id: 1001 });
  else {
    const rejected = await server.admin("PUT", `/admin/v1/login-requests/${challenge}/reject`, {});
    back = ((await rejected.json()) as { redirect_to: string }).redirect_to;
  }
  return { codeVerifier, state, callback: new URL((await browser.open(back)).location) };
}

async function tokensFor(way: Way) {
  const { client, auth, redirectUri } = await clientFor(way);
  const { codeVerifier, state, callback } = await authorize(client, redirectUri, "accept");
  const parameters = oauth.validateAuthResponse(issuer, client, callback, state);
  const answer = await oauth.authorizationCodeGrantRequest(
    issuer,
    client,
    auth,
    parameters,
    redirectUri,
    codeVerifier,
    http,
  );
  return { client, auth, tokens: await oauth.processAuthorizationCodeResponse(issuer, client, answer) };
}

test("client_credentials", async () => {
  for (const way of ["client_secret_basic", "client_secret_post"] as const) {
    const { client, auth } = await clientFor(way);
    const scope = { scope: "users:read" };
    const answer = await oauth.clientCredentialsGrantRequest(issuer, client, auth, scope, http);
    const { access_token, token_type, expires_in } = await oauth.processClientCredentialsResponse(
      issuer,
      client,
      answer,
    );
    expect([token_type, expires_in]).toEqual(["bearer", 60 * 24 * 3600]);
    expect(await username(access_token)).toBe("xqcow");
  }
});

test.each(ways)("%s: code with PKCE, refresh, introspection, user and revocation", async (way) => {
  const { client, auth, tokens } = await tokensFor(way);
  expect(await username(tokens.access_token)).toBe("xqcow");
  const refreshed = await oauth.refreshTokenGrantRequest(
    issuer,
    client,
    auth,
    tokens.refresh_token ?? "",
    http,
  );
  const next = await oauth.processRefreshTokenResponse(issuer, client, refreshed);
  expect(next.refresh_token).not.toBe(tokens.refresh_token);

  const introspected = await oauth.introspectionRequest(issuer, client, auth, next.access_token, http);
  expect(await oauth.processIntrospectionResponse(issuer, client, introspected)).toMatchObject({
    active: true,
    client_id: client.client_id,
    sub: "1001",
    username: "xqcow",
  });
  const info = await oauth.userInfoRequest(issuer, client, next.access_token, http);
  expect(await oauth.processUserInfoResponse(issuer, client, "1001", info)).toMatchObject({
    preferred_username: "xqcow",
  });

  const revoked = await oauth.revocationRequest(issuer, client, auth, next.refresh_token ?? "", http);
  expect(await oauth.processRevocationResponse(revoked)).toBeUndefined();
  const challenged = await username(next.access_token).catch((error: unknown) => error);
  if (!(challenged instanceof oauth.WWWAuthenticateChallengeError)) throw challenged;
  expect(challenged.cause[0]).toMatchObject({ scheme: "bearer", parameters: { error: "invalid_token" } });
});

test("the errors of authorization and token endpoint are understood", async () => {
  const { client, auth, redirectUri } = await clientFor("client_secret_basic");
  const { state, callback } = await authorize(client, redirectUri, "reject");
  expect(() => oauth.validateAuthResponse(issuer, client, callback, state)).toThrow(
    oauth.AuthorizationResponseError,
  );
  const answer = await oauth.refreshTokenGrantRequest(issuer, client, auth, "unknown", http);
  const failed = await oauth
    .processRefreshTokenResponse(issuer, client, answer)
    .catch((error: unknown) => error);
  if (!(failed instanceof oauth.ResponseBodyError)) throw failed;
  expect([failed.status, failed.error]).toEqual([400, "invalid_grant"]);
});

test("RFC 9207: an answer of another issuer is noticed", async () => {
  const { client, redirectUri } = await clientFor("none");
  const { state, callback } = await authorize(client, redirectUri, "accept");
  callback.searchParams.set("iss", "https://evil.example");
  expect(() => oauth.validateAuthResponse(issuer, client, callback, state)).toThrow(
    oauth.OperationProcessingError,
  );
});
