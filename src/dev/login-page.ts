import { htmlHeaders, htmlPage } from "../api/pages/files.ts";
import type { Scope } from "../domain/tokens.ts";
import type { SamplePerson } from "./sample-languages.ts";

/*
 * A minimal login and consent page of a platform. On Air redirects browsers here with a challenge. The page reads the
 * login request from the admin API, sends the user's decision, and redirects the browser to the URL in the answer.
 */

export const loginPath = "/login";

interface LoginPageOptions {
  readonly adminUrl: () => string;
  readonly adminKey: string;
  /** The users to choose from. */
  readonly people: readonly SamplePerson[];
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

/** Answers `GET /login?login_challenge=…` with the page, and handles its form. */
export function loginPage({ adminUrl, adminKey, people }: LoginPageOptions) {
  const callAdmin = (method: string, challenge: string, rest = "", body?: object) =>
    fetch(`${adminUrl()}/admin/v1/login-requests/${encodeURIComponent(challenge)}${rest}`, {
      method,
      headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });

  const show = async (challenge: string): Promise<Response> => {
    const answer = await callAdmin("GET", challenge);
    if (!answer.ok) return ended(answer.status);
    return html(200, "Allow access?", consentForm((await answer.json()) as LoginRequest, challenge, people));
  };

  const decide = async (form: URLSearchParams): Promise<Response> => {
    const challenge = form.get("login_challenge") ?? "";
    const answer =
      form.get("decision") === "allow"
        ? await callAdmin("PUT", challenge, "/accept", { user_id: Number(form.get("user_id")) })
        : await callAdmin("PUT", challenge, "/reject", { error_description: "The user denied access" });
    if (!answer.ok) return ended(answer.status);
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
    return `<option value="${user.id}">${Bun.escapeHTML(user.display_name)} (${Bun.escapeHTML(user.username)})</option>`;
  });
  return `<h1>Allow ${Bun.escapeHTML(application.name)} to use your account?</h1>
<p>It wants to:</p><ul>${scopes.map((scope) => `<li>${meanings[scope]} (<code>${scope}</code>)</li>`).join("")}</ul>
<form method="post" action="${loginPath}">
<input type="hidden" name="login_challenge" value="${Bun.escapeHTML(challenge)}">
<p><label>You are <select name="user_id">${options.join("")}</select></label></p>
<p><button name="decision" value="allow">Allow</button><button name="decision" value="deny">Deny</button></p>
</form><p>Then you are redirected to <code>${Bun.escapeHTML(redirect_uri)}</code></p>`;
}

/** The URLs of these pages carry challenges and codes. */
const privately = { "referrer-policy": "no-referrer", "cache-control": "no-store" };

/**
 * Returns a page of the sample platform. Its policy has no `form-action`, which browsers would also apply to the
 * redirect after the form.
 */
export function html(status: number, title: string, body: string): Response {
  return new Response(htmlPage(title, body), { status, headers: { ...htmlHeaders, ...privately } });
}

function ended(status: number): Response {
  const reason = status === 409 ? "It was already completed." : "It took too long, or was never started.";
  return html(status, "This sign-in has ended", `<h1>This sign-in has ended</h1><p>${reason}</p>`);
}
