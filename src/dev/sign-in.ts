import { randomBytes } from "node:crypto";
import {
  font,
  fontHeaders,
  fontPath,
  htmlHeaders,
  htmlPage,
  ownLook,
  type PageLook,
} from "../api/http/pages.ts";
import { codeChallenge, type Scope } from "../domain/tokens.ts";
import { isolated } from "../web/text.ts";
import { firstFree, loopback, serveOnLoopback, withAlternatives } from "./ports.ts";
import type { SamplePerson } from "./sample-data.ts";

/*
 * The pages of `onair dev` for signing in: a sample application with which a user signs in, and the login page of the
 * platform.
 */

const startPath = "/";
const callbackPath = "/callback";
const loginPath = "/login";

/** The pages of `onair dev` for a browser: the platform's login page, and a sample application. */
export interface SignIn {
  readonly loginUrl: string;
  /** The URL at which a sign-in starts. */
  readonly startUrl: string;
  readonly redirectUri: string;
  stop(): Promise<void>;
}

interface SignInOptions {
  /** Returns the URL of the public listener. The server starts later. */
  readonly publicUrl: () => string;
  readonly adminUrl: () => string;
  readonly adminKey: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly people: readonly SamplePerson[];
  /** The name and the colour of the platform. */
  readonly look: PageLook;
  /** The port to listen on; null for a free one. */
  readonly port: number | null;
}

const defaultPort = 8083;
const maxBodyBytes = 16 * 1024;

const redirectUriForm = /^http:\/\/127\.0\.0\.1:[0-9]+\/callback$/;

/** Whether a redirect URI belongs to the sample application, whatever the port. */
export function isSampleRedirectUri(uri: string): boolean {
  return redirectUriForm.test(uri);
}

/** Serves the login page and the sample application on one loopback port. */
export function startSignIn(options: SignInOptions): SignIn {
  let origin = "";
  const platform = loginPage(options);
  const application = sampleClient({ ...options, redirectUri: () => origin + callbackPath });
  const port = options.port ?? firstFree(loopback, withAlternatives(defaultPort));
  const server = serveOnLoopback("--sign-in-port", port, {
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
  origin = `http://${loopback}:${server.port}`;
  return {
    loginUrl: origin + loginPath,
    startUrl: origin + startPath,
    redirectUri: origin + callbackPath,
    stop: () => server.stop(true),
  };
}

interface SampleClientOptions {
  readonly publicUrl: () => string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly redirectUri: () => string;
  readonly look: PageLook;
}

const maxStarted = 100;

/**
 * A sample third-party application. Answers `/` with a redirect to sign in. At `/callback`, exchanges the code for
 * tokens, and answers with the tokens and sample requests.
 */
function sampleClient({ publicUrl, clientId, clientSecret, redirectUri, look }: SampleClientOptions) {
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
    if (!answer.ok) return failed(look, text);
    const tokens = JSON.parse(text) as { access_token: string };
    const authorization = `-H 'Authorization: Bearer ${tokens.access_token}'`;
    const curl = (path: string) => Bun.escapeHTML(`curl '${publicUrl()}${path}' ${authorization}`);
    const json = Bun.escapeHTML(JSON.stringify(tokens, null, 2));
    return html(
      200,
      "Signed in",
      `<h1>Signed in</h1><p>The application has got:</p><pre><code>${json}</code></pre>
<p>Who signed in:</p><pre><code>${curl("/oauth/userinfo")}</code></pre>
<p>The user's subscriptions of this application:</p><pre><code>${curl("/public/v1/events/subscriptions")}</code></pre>`,
      look,
    );
  };

  return async (url: URL): Promise<Response> => {
    if (url.pathname === startPath) return start();
    const { searchParams } = url;
    const state = searchParams.get("state") ?? "";
    const verifier = started.get(state);
    if (verifier === undefined || searchParams.get("iss") !== publicUrl()) {
      return failed(look, "This is not the answer to a sign-in that this application began");
    }
    started.delete(state);
    const code = searchParams.get("code");
    if (code !== null) return exchange(code, verifier);
    return failed(look, `${searchParams.get("error")}: ${searchParams.get("error_description")}`);
  };
}

function failed(look: PageLook, reason: string): Response {
  return html(400, "Not signed in", `<h1>Not signed in</h1><p>${Bun.escapeHTML(reason)}</p>`, look);
}

interface LoginPageOptions {
  readonly adminUrl: () => string;
  readonly adminKey: string;
  /** The users to choose from. */
  readonly people: readonly SamplePerson[];
  readonly look?: PageLook;
}

/** The answer of `GET /admin/v1/login-requests/{challenge}`. */
interface LoginRequest {
  readonly application: { readonly name: string };
  readonly redirect_uri: string;
  readonly scopes: readonly Scope[];
}

const meanings: Readonly<Record<Scope, string>> = {
  "users:read": "look up and search users",
  "events:subscribe": "receive events of your channel",
};

const shownPeople = 50;

/**
 * A minimal login and consent page of a platform. On Air redirects browsers here with a challenge. The page reads the
 * login request from the admin API, sends the user's decision, and redirects the browser to the URL in the answer.
 */
export function loginPage({ adminUrl, adminKey, people, look = ownLook }: LoginPageOptions) {
  const callAdmin = (method: string, challenge: string, rest = "", body?: object) =>
    fetch(`${adminUrl()}/admin/v1/login-requests/${encodeURIComponent(challenge)}${rest}`, {
      method,
      headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });

  const show = async (challenge: string): Promise<Response> => {
    const answer = await callAdmin("GET", challenge);
    if (!answer.ok) return ended(look, answer.status);
    const form = consentForm((await answer.json()) as LoginRequest, challenge, people);
    return html(200, "Allow access?", form, look);
  };

  const decide = async (form: URLSearchParams): Promise<Response> => {
    const challenge = form.get("login_challenge") ?? "";
    const answer =
      form.get("decision") === "allow"
        ? await callAdmin("PUT", challenge, "/accept", { user_id: Number(form.get("user_id")) })
        : await callAdmin("PUT", challenge, "/reject", { error_description: "The user denied access" });
    if (!answer.ok) return ended(look, answer.status);
    const { redirect_to } = (await answer.json()) as { redirect_to: string };
    return new Response(null, { status: 303, headers: { location: redirect_to, ...privately } });
  };

  return async (request: Request): Promise<Response> => {
    if (request.method === "GET") {
      return show(new URL(request.url).searchParams.get("login_challenge") ?? "");
    }
    if (request.method !== "POST")
      return new Response(null, { status: 405, headers: { allow: "GET, POST" } });
    return decide(new URLSearchParams(await request.text()));
  };
}

function consentForm(
  { application, redirect_uri, scopes }: LoginRequest,
  challenge: string,
  people: readonly SamplePerson[],
): string {
  const options = people.slice(0, shownPeople).map(({ user }) => {
    return `<option value="${user.id}">${Bun.escapeHTML(isolated(user.display_name))} (${Bun.escapeHTML(user.username)})</option>`;
  });
  return `<h1>Allow <bdi>${Bun.escapeHTML(application.name)}</bdi> to use your account?</h1>
<p>It wants to:</p><ul>${scopes.map((scope) => `<li>${meanings[scope]} (<code>${scope}</code>)</li>`).join("")}</ul>
<form method="post" action="${loginPath}">
<input type="hidden" name="login_challenge" value="${Bun.escapeHTML(challenge)}">
<p><label>You are <select name="user_id">${options.join("")}</select></label></p>
<p><button name="decision" value="allow">Allow</button><button name="decision" value="deny">Deny</button></p>
</form><p>Then you are redirected to <code>${Bun.escapeHTML(redirect_uri)}</code></p>`;
}

/** Headers of the sign-in pages, whose URLs carry challenges and codes. */
const privately = { "referrer-policy": "no-referrer", "cache-control": "no-store" };

/**
 * Returns a page of the sample platform. The content security policy has no `form-action`, because browsers would also
 * apply it to the redirect after the form.
 */
export function html(status: number, title: string, body: string, look = ownLook): Response {
  return new Response(htmlPage({ title, body, look }), { status, headers: { ...htmlHeaders, ...privately } });
}

function ended(look: PageLook, status: number): Response {
  const reason = status === 409 ? "It was already completed." : "It took too long, or was never started.";
  return html(status, "This sign-in has ended", `<h1>This sign-in has ended</h1><p>${reason}</p>`, look);
}
