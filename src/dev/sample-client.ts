import { randomBytes } from "node:crypto";
import { codeChallenge } from "../domain/authorizations.ts";
import { html } from "./login-page.ts";

/*
 * A sample third-party application: it redirects the browser to sign in and exchanges the returned code.
 */

export const startPath = "/";
export const callbackPath = "/callback";

interface SampleClientOptions {
  readonly publicUrl: () => string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly redirectUri: () => string;
}

const maxStarted = 100;

/** Answers `/` with a redirect to sign in, and `/callback` with the tokens and a sample request. */
export function sampleClient({ publicUrl, clientId, clientSecret, redirectUri }: SampleClientOptions) {
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
