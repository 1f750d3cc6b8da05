import { randomBytes } from "node:crypto";
import { font, fontHeaders, fontPath } from "../api/pages/files.ts";
import { codeChallenge } from "../domain/tokens.ts";
import { html, loginPage, loginPath } from "./login-page.ts";
import { firstFree, withAlternatives } from "./ports.ts";
import type { SamplePerson } from "./sample-languages.ts";

/*
 * A sample third-party application: it redirects the browser to sign in and exchanges the returned code.
 */

const startPath = "/";
const callbackPath = "/callback";

interface SampleClientOptions {
  readonly publicUrl: () => string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly redirectUri: () => string;
}

const maxStarted = 100;

/** Answers `/` with a redirect to sign in, and `/callback` with the tokens and a sample request. */
function sampleClient({ publicUrl, clientId, clientSecret, redirectUri }: SampleClientOptions) {
  /** Code verifiers of unfinished sign-ins, by state. */
  const started = new Map<string, string>();

  const start = (): Response => {
    const state = randomBytes(16).toString("base64url");
    const verifier = randomBytes(32).toString("base64url");
    const [oldest] = started.keys();
    if (started.size >= maxStarted && oldest !== undefined) started.delete(oldest);
    started.set(state, verifier);
    const query = new URLSearchParams({
      response_type: "code",
      client_id: clientId,
      redirect_uri: redirectUri(),
      state,
      code_challenge: codeChallenge(verifier),
      code_challenge_method: "S256",
    });
    const location = `${publicUrl()}/oauth/authorize?${query}`;
    return new Response(null, { status: 303, headers: { location, "cache-control": "no-store" } });
  };

  const exchange = async (code: string, verifier: string): Promise<Response> => {
    const answer = await fetch(`${publicUrl()}/oauth/token`, {
      method: "POST",
      body: new URLSearchParams({
        grant_type: "authorization_code",
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uri: redirectUri(),
        code,
        code_verifier: verifier,
      }),
    });
    const text = await answer.text();
    if (!answer.ok) return failed(text);
    const tokens = JSON.parse(text) as { access_token: string };
    const authorization = `-H 'Authorization: Bearer ${tokens.access_token}'`;
    const curl = `curl '${publicUrl()}/public/v1/events/subscriptions' ${authorization}`;
    const shown = Bun.escapeHTML(JSON.stringify(tokens, null, 2));
    return html(
      200,
      "Signed in",
      `<h1>Signed in</h1><p>The application has got:</p><pre><code>${shown}</code></pre>
<p>The user's subscriptions of this application:</p><pre><code>${Bun.escapeHTML(curl)}</code></pre>`,
    );
  };

  return async (url: URL): Promise<Response> => {
    if (url.pathname === startPath) return start();
    const { searchParams } = url;
    const state = searchParams.get("state") ?? "";
    const verifier = started.get(state);
    if (verifier === undefined || searchParams.get("iss") !== publicUrl()) {
      return failed("This is not the answer to a sign-in that this application began");
    }
    started.delete(state);
    const code = searchParams.get("code");
    if (code !== null) return exchange(code, verifier);
    return failed(`${searchParams.get("error")}: ${searchParams.get("error_description")}`);
  };
}

function failed(reason: string): Response {
  return html(400, "Not signed in", `<h1>Not signed in</h1><p>${Bun.escapeHTML(reason)}</p>`);
}

/** The pages of `onair dev` for a browser: the platform's login page, and a sample application. */
export interface SignIn {
  readonly loginUrl: string;
  /** The URL to start at. */
  readonly startUrl: string;
  readonly redirectUri: string;
  stop(): Promise<void>;
}

interface SignInOptions {
  /** The URLs of the server, which starts later. */
  readonly publicUrl: () => string;
  readonly adminUrl: () => string;
  readonly adminKey: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly people: readonly SamplePerson[];
}

const hostname = "127.0.0.1";
const defaultPort = 8083;
const maxBodyBytes = 16 * 1024;

const redirectUriForm = /^http:\/\/127\.0\.0\.1:[0-9]+\/callback$/;

/** Whether a redirect URI belongs to the sample application, whatever its port. */
export function isSampleRedirectUri(uri: string): boolean {
  return redirectUriForm.test(uri);
}

/** Serves both pages on one loopback port. */
export function startSignIn(options: SignInOptions): SignIn {
  let origin = "";
  const platform = loginPage(options);
  const application = sampleClient({ ...options, redirectUri: () => origin + callbackPath });
  const server = Bun.serve({
    hostname,
    port: firstFree(hostname, withAlternatives(defaultPort)),
    reusePort: false,
    development: false,
    maxRequestBodySize: maxBodyBytes,
    async fetch(request) {
      const url = new URL(request.url);
      if (url.pathname === fontPath) return new Response((await font()).body, { headers: fontHeaders });
      if (url.pathname === loginPath) return platform(request);
      const isKnown = url.pathname === startPath || url.pathname === callbackPath;
      return isKnown && request.method === "GET" ? application(url) : new Response(null, { status: 404 });
    },
    error: () => new Response(null, { status: 500 }),
  });
  origin = `http://${hostname}:${server.port}`;
  return {
    loginUrl: origin + loginPath,
    startUrl: origin + startPath,
    redirectUri: origin + callbackPath,
    stop: () => server.stop(true),
  };
}
