import { exportJWK, generateKeyPair, type JWK } from "jose";
import { loginPage } from "../../src/dev/sign-in.ts";
import type { NewApplication } from "../../src/domain/applications.ts";
import type { Store } from "../../src/domain/store.ts";
import { codeChallenge } from "../../src/domain/tokens.ts";
import { testListener } from "./listener.ts";
import { users } from "./real-data.ts";
import {
  adminKey,
  json,
  type TestApplication,
  type TestServer,
  type TestServerOptions,
  testServer,
} from "./server.ts";

/** The platform's login page. Nothing listens there; the tests play its part. */
export const loginUrl = "https://platform.example/login";
export const redirectUri = "https://app.example/callback";
export const codeVerifier = "a-verifier-of-at-least-forty-three-characters";

/** Default parameters of an authorization request; null omits a parameter. */
export type Fields = Readonly<Record<string, string | null>>;

export function authorizationRequest(clientId: string, fields: Fields = {}): string {
  const all: Fields = {
    response_type: "code",
    client_id: clientId,
    redirect_uri: redirectUri,
    state: "xyz",
    code_challenge: codeChallenge(codeVerifier),
    code_challenge_method: "S256",
    ...fields,
  };
  return `/oauth/authorize?${formOf(all)}`;
}

export function formOf(fields: Fields): URLSearchParams {
  return new URLSearchParams(
    Object.entries(fields).filter((one): one is [string, string] => one[1] !== null),
  );
}

/** A minimal browser: keeps one cookie and follows no redirects. */
export class Browser {
  cookie: string | null = null;

  constructor(private readonly server: TestServer) {}

  async open(address: string): Promise<{ status: number; location: string; response: Response }> {
    const path = address.startsWith("/") ? address : address.slice(this.server.publicUrl.length);
    const headers: Record<string, string> = { accept: "text/html" };
    if (this.cookie) headers["cookie"] = this.cookie;
    const response = await this.server.get(path, undefined, { headers });
    const set = response.headers.get("set-cookie");
    if (set) this.cookie = set.split(";")[0] ?? null;
    return { status: response.status, location: response.headers.get("location") ?? "", response };
  }
}

/** The value of a query parameter of a URL. */
export function parameter(address: string, name: string): string {
  return new URL(address).searchParams.get(name) ?? "";
}

/** Starts an authorization in a browser. Returns the login challenge for the platform. */
export async function challengeFor(browser: Browser, path: string): Promise<string> {
  const { status, location } = await browser.open(path);
  if (status !== 303 || !location.startsWith(loginUrl)) throw new Error(`no login: ${status} ${location}`);
  return parameter(location, "login_challenge");
}

/** Accepts a challenge as the platform. Returns the URL to send the browser to. */
export async function accept(server: TestServer, challenge: string, body: object): Promise<string> {
  const answer = await server.admin("PUT", `/admin/v1/login-requests/${challenge}/accept`, body);
  if (answer.status !== 200) throw new Error(await answer.text());
  return (await json<{ redirect_to: string }>(answer)).redirect_to;
}

/** An authorization code for an application, after a user's consent. */
export async function codeFor(
  server: TestServer,
  application: Pick<TestApplication, "client_id">,
  { userId = 1001, fields = {}, consent = {} }: { userId?: number; fields?: Fields; consent?: object } = {},
): Promise<string> {
  const browser = new Browser(server);
  const challenge = await challengeFor(browser, authorizationRequest(application.client_id, fields));
  const back = await accept(server, challenge, { user_id: userId, ...consent });
  const code = parameter((await browser.open(back)).location, "code");
  if (!code) throw new Error("no code");
  return code;
}

export interface TokenAnswer {
  readonly access_token: string;
  readonly token_type: string;
  readonly expires_in: number;
  readonly refresh_token: string;
  readonly scope: string;
  readonly error?: string;
  readonly error_description?: string;
}

/** A request to one of the client endpoints. */
export async function form(
  server: TestServer,
  path: string,
  fields: Fields,
  headers: Record<string, string> = {},
) {
  const response = await server.get(path, undefined, { method: "POST", body: formOf(fields), headers });
  const text = await response.text();
  const body = (text === "" ? {} : JSON.parse(text)) as TokenAnswer;
  return { status: response.status, headers: response.headers, body };
}

/** The credentials of an application as form fields. */
export function credentials({ client_id, client_secret }: TestApplication): Fields {
  return { client_id, client_secret: client_secret || null };
}

/** Requests an app access token. */
export function clientCredentials(server: TestServer, application: TestApplication, fields: Fields = {}) {
  return form(server, "/oauth/token", {
    grant_type: "client_credentials",
    ...credentials(application),
    ...fields,
  });
}

/** Exchanges a code. */
export function redeem(server: TestServer, application: TestApplication, code: string, fields: Fields = {}) {
  return form(server, "/oauth/token", {
    grant_type: "authorization_code",
    ...credentials(application),
    code,
    code_verifier: codeVerifier,
    redirect_uri: redirectUri,
    ...fields,
  });
}

/** Exchanges a refresh token. */
export function refresh(
  server: TestServer,
  application: TestApplication,
  refreshToken: string,
  fields: Fields = {},
) {
  return form(server, "/oauth/token", {
    grant_type: "refresh_token",
    ...credentials(application),
    refresh_token: refreshToken,
    ...fields,
  });
}

/** Tokens of a user who consented. */
export async function userTokens(
  server: TestServer,
  application: TestApplication,
  options: Parameters<typeof codeFor>[2] = {},
): Promise<TokenAnswer> {
  const { status, body } = await redeem(server, application, await codeFor(server, application, options), {
    redirect_uri: null,
  });
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body;
}

/** At the top of a file: a server with users and a login page, and the requests of clients and browsers. */
export async function signInServer({ args = [], ...options }: TestServerOptions = {}) {
  const server = await testServer({ users, args: ["--login-url", loginUrl, ...args], ...options });
  const here =
    <Given extends unknown[], Result>(call: (server: TestServer, ...given: Given) => Result) =>
    (...given: Given) =>
      call(server, ...given);
  return {
    server,
    /** Creates an application that may sign users in. */
    newApp: (fields: object = {}) => server.application({ redirect_uris: [redirectUri], ...fields }),
    /** True when a token is active. */
    works: async (token: string) => (await server.get("/public/v1/users/xqcow", token)).status === 200,
    accept: here(accept),
    clientCredentials: here(clientCredentials),
    codeFor: here(codeFor),
    form: here(form),
    redeem: here(redeem),
    refresh: here(refresh),
    userTokens: here(userTokens),
  };
}

export const portalLogin = "01KATHZX5M9S3E6R8B2D4F7G1H";

/** Users of the platform. */
export const people = [1001, 1002].map((id) => ({ id, username: `owner_${id}` }));

/**
 * At the top of a file: a server where owners of applications sign in to the portal through the platform's login page.
 */
export async function portalLoginServer(): Promise<{ server: TestServer; loginUrl: string }> {
  let server: TestServer | null = null;
  const page = loginPage({
    adminUrl: () => server?.adminUrl ?? "",
    adminKey,
    people: people.map((user) => ({ user: { display_name: user.username, ...user } }) as never),
  });
  const loginUrl = `${testListener(page).url}/login`;
  const args = ["--portal", "--portal-login", portalLogin, "--login-url", loginUrl];
  const portal: NewApplication = {
    id: portalLogin,
    name: "Developer portal",
    client_type: "public",
    delivery: "webhook",
    webhook_url: null,
    webhook_secret: "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3",
    scopes: ["users:read"],
    redirect_uris: [],
    rate_limit: null,
    subscription_limit: null,
    created_at: "2026-01-14T16:00:00.000Z",
    updated_at: "2026-01-14T16:00:00.000Z",
    client_secret_hash: null,
  };
  const prepare = (store: Store) => store.applications.create(portal);
  server = await testServer({ args, users: people, prepare });
  const redirect_uris = [`${server.publicUrl}/portal/signed-in`];
  await server.app.store.applications.update(portalLogin, { redirect_uris }, Date.now());
  return { server, loginUrl };
}

export const issuer = "https://platform.example";
export const audience = "https://api.example";

/** A key pair of a platform, and the part of it that it publishes. */
export async function newKey(kid: string, alg = "ES256") {
  const pair = await generateKeyPair(alg, { extractable: true });
  return { ...pair, jwk: { ...(await exportJWK(pair.publicKey)), kid, alg, use: "sig" } };
}

/**
 * At the top of a file: a platform that publishes the keys of its access tokens, and counts how often they are fetched.
 */
export function platformKeys() {
  const platform = {
    keys: [] as JWK[],
    /** Answers instead of the keys. */
    respond: null as (() => Response) | null,
    fetches: 0,
  };
  const { url } = testListener(() => {
    platform.fetches++;
    return platform.respond?.() ?? Response.json({ keys: platform.keys });
  });
  const jwksUrl = `${url}/jwks`;
  const args = ["--jwks-url", jwksUrl, "--jwt-issuer", issuer, "--jwt-audience", audience];
  return Object.assign(platform, { jwksUrl, args });
}
