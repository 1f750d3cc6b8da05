import { randomBytes } from "node:crypto";
import { requestToken, type Session } from "../client/tokens.ts";
import { html } from "../dev/login-page.ts";
import { minute } from "../domain/time.ts";
import { codeChallenge } from "../domain/tokens.ts";
import { printable } from "../runtime/terminal.ts";
import type { Environment } from "../server/settings/read-config.ts";
import { request } from "./calls/http.ts";
import { throughRequest } from "./calls/public-api.ts";
import { note } from "./output/print.ts";

interface BrowserLogin {
  /** The public listener. */
  readonly url: string;
  readonly clientId: string;
  /** Absent for a public client. */
  readonly clientSecret: string | undefined;
  /** The port of the redirect URI on this machine; 0 for any port, which only public clients may use. */
  readonly port: number;
  readonly scopes: readonly string[] | undefined;
}

const hostname = "127.0.0.1";
const path = "/callback";
const timeoutMs = 5 * minute;

/** Returns the redirect URI that an application must register for the sign-in. */
export const redirectUriOf = (port: number) => `http://${hostname}${port === 0 ? "" : `:${port}`}${path}`;

/**
 * Signs a user in with the browser of this machine: authorization code with PKCE (RFC 7636) and a loopback redirect
 * (RFC 8252). Throws when the user or the platform refuses, or when there is no answer within five minutes.
 */
export async function signInByBrowser(login: BrowserLogin, env: Environment): Promise<Session> {
  const { issuer, authorization_endpoint: endpoint } = await metadataOf(login.url);
  if (endpoint === undefined)
    throw new Error(
      `${login.url} has no login page, so users cannot sign in: leave out --browser to use the application's own tokens`,
    );
  const state = randomBytes(16).toString("base64url");
  const verifier = randomBytes(32).toString("base64url");
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const server = Bun.serve({
    hostname,
    port: login.port,
    reusePort: false,
    development: false,
    fetch(asked) {
      const { pathname, searchParams } = new URL(asked.url);
      if (pathname !== path || asked.method !== "GET") return new Response(null, { status: 404 });
      const isOurs = searchParams.get("state") === state && searchParams.get("iss") === issuer;
      if (!isOurs)
        return page(
          400,
          "Not signed in",
          "This is not the response to the sign-in that the terminal waits for.",
        );
      const code = searchParams.get("code");
      if (code !== null) {
        resolve(code);
        return page(200, "Signed in", "You can close this page and return to the terminal.");
      }
      const why =
        searchParams.get("error_description") ?? searchParams.get("error") ?? "the answer has no code";
      reject(new Error(`The sign-in was refused: ${printable(why)}`));
      return page(400, "Not signed in", "The terminal says why.");
    },
  });
  const late = setTimeout(
    () => reject(new Error("No user signed in within five minutes. Try again")),
    timeoutMs,
  );
  try {
    const redirect_uri = redirectUriOf(server.port ?? 0);
    const query = new URLSearchParams({
      response_type: "code",
      client_id: login.clientId,
      redirect_uri,
      state,
      code_challenge: codeChallenge(verifier),
      code_challenge_method: "S256",
      ...(login.scopes && { scope: login.scopes.join(" ") }),
    });
    open(`${endpoint}?${query}`, env);
    const form = new URLSearchParams({
      grant_type: "authorization_code",
      code: await promise,
      redirect_uri,
      code_verifier: verifier,
      client_id: login.clientId,
      ...(login.clientSecret !== undefined && { client_secret: login.clientSecret }),
    });
    return await requestToken(login.url, form, throughRequest);
  } finally {
    clearTimeout(late);
    // Waits until the browser has received the page.
    await server.stop();
  }
}

interface Metadata {
  readonly issuer: string;
  readonly authorization_endpoint?: string;
}

/**
 * Fetches the metadata of the authorization server (RFC 8414). The `issuer` must be the requested URL (section 3.3):
 * otherwise a malicious server could name another platform's login page, and receive a code that is valid there.
 */
async function metadataOf(url: string): Promise<Metadata> {
  const response = await request(`${url}/.well-known/oauth-authorization-server`);
  const { issuer, authorization_endpoint: endpoint } = ((await response.json().catch(() => null)) ??
    {}) as Readonly<Record<string, unknown>>;
  if (!response.ok || typeof issuer !== "string")
    throw new Error(`${url} is not the public listener of an On Air server`);
  if (!URL.canParse(issuer) || new URL(issuer).href !== new URL(url).href)
    throw new Error(`${url} says that its URL is ${printable(issuer)}: if you trust that, give it as --url`);
  if (endpoint === undefined) return { issuer };
  // The URL is shown, and passed to another program: allow only web pages.
  const page = typeof endpoint === "string" && URL.canParse(endpoint) ? new URL(endpoint) : null;
  if (!page || !/^https?:$/.test(page.protocol)) throw new Error(`${url} has no valid sign-in page`);
  return { issuer, authorization_endpoint: page.href };
}

/** Prints a URL, and opens it in the browser if there is one. */
function open(address: string, env: Environment): void {
  note(`Sign in with a browser on this machine:\n\n  ${address}\n`);
  const openers: Readonly<Record<string, readonly string[]>> = {
    darwin: ["open"],
    win32: ["rundll32", "url.dll,FileProtocolHandler"],
  };
  const command = env["BROWSER"] ? [env["BROWSER"]] : (openers[process.platform] ?? ["xdg-open"]);
  try {
    Bun.spawn([...command, address], { stdin: "ignore", stdout: "ignore", stderr: "ignore" }).unref();
  } catch {
    // There is no browser; the user can open the printed URL.
  }
}

function page(status: number, title: string, sentence: string): Response {
  return html(status, title, `<h1>${title}</h1><p>${sentence}</p>`);
}
