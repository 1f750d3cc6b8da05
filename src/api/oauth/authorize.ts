import { Type } from "@sinclair/typebox";
import { type Application, isRegistered, withParameters } from "../../domain/applications.ts";
import { loginLifetimeMs, loginLimits, newSecret, secretHash } from "../../domain/tokens.ts";
import { file, noContent } from "../http/answers.ts";
import { type RequestContext, reply } from "../http/context.ts";
import { OAuthError, type OAuthErrorCode, oauthPaths, replyProblem } from "../http/errors.ts";
import {
  exampleClientId,
  exampleRedirectUri,
  type RequestParameters,
  readParameters,
  readScopes,
  repetition,
  scopeField,
} from "../http/oauth.ts";
import { cookiesOf, htmlHeaders, htmlPage, ownLook, type PageLook, privateCookie } from "../http/pages.ts";
import type { PublicDeps, PublicListener } from "../public/listener.ts";

/*
 * Responses of the authorization endpoint to a browser. The URLs have codes and challenges, so none is sent as a
 * referrer.
 */

const privately = { "referrer-policy": "no-referrer", "x-content-type-options": "nosniff" };

/** Redirects the browser with 303, so that it uses GET (RFC 9700, section 4.12). */
function redirect(requestContext: RequestContext, location: string, cookie?: string): Response {
  return reply(requestContext, 303, null, {
    ...privately,
    location,
    ...(cookie && { "set-cookie": cookie }),
  });
}

/** The application that a failed sign-in was for. */
interface Asking {
  readonly name: string;
  /** The redirect URI with the error. */
  readonly errorUri: string;
}

/**
 * Returns an error that the browser shows: an HTML page if the request accepts HTML, else JSON. Before a user has
 * logged in, no error is a redirect, because anyone can make a link that causes one, to a URI that only the developer
 * of the application has chosen (RFC 9700, section 4.11.2). The page has a link to the application instead.
 *
 * @param asking null if the application or its redirect URI is not valid (RFC 6749, section 4.1.2.1)
 */
function replyToPerson(
  requestContext: RequestContext,
  look: PageLook | undefined,
  code: OAuthErrorCode,
  message: string,
  asking: Asking | null = null,
): Response {
  if (!(requestContext.request.headers.get("accept") ?? "").includes("text/html")) {
    return replyProblem(requestContext, { status: 400, code, message, headers: privately });
  }
  const body = `<h1>This sign-in does not work</h1><p>${Bun.escapeHTML(message)}.</p>
${asking ? backTo(asking) : "<p>Go back to the application and try again.</p>"}
<p>If that does not help, contact its developer: <code>${Bun.escapeHTML(code)}</code>, request
<code>${Bun.escapeHTML(requestContext.requestId)}</code>.</p>`;
  const page = htmlPage({ title: "This sign-in does not work", body, look: look ?? ownLook, root: "../" });
  return reply(requestContext, 400, page, { ...privately, ...htmlHeaders });
}

function backTo({ name, errorUri }: Asking): string {
  const address = errorUri.replace(/\?.*/s, "");
  return `<p>An application with the name “<bdi>${Bun.escapeHTML(name)}</bdi>” asked for it. Back to the application:
<a rel="noreferrer" href="${Bun.escapeHTML(errorUri)}">${Bun.escapeHTML(address)}</a></p>`;
}

const secretForm = /^onair_br_[A-Za-z0-9_-]{43}$/;

/**
 * The cookies that identify a browser when it returns from the platform. Its login requests share one, unless they were
 * begun at once: then each has its own, with another name, so that none replaces another's.
 */
function browserCookies(publicUrl: string, lifetimeMs: number) {
  // SameSite=Lax, because the browser returns from another site.
  const cookieOf = (name: string) =>
    privateCookie(`onair_browser_${name}`, publicUrl.startsWith("https://"), "Lax");
  const prefix = cookieOf("").name;
  return {
    /** Returns the secrets of the browser. */
    read: (request: Request): string[] =>
      cookiesOf(request).flatMap(([name, value]) =>
        name.startsWith(prefix) && secretForm.test(value) ? [value] : [],
      ),
    make: () => newSecret("onair_br_"),
    /** Returns the header that sets the cookie of a secret, whose name is a hash of it. */
    header: (secret: string) =>
      cookieOf(secretHash(secret).toString("hex", 0, 4)).header(secret, lifetimeMs / 1000),
  };
}

/** An error that the application does not get, because it or its redirect URI is not valid. */
class UndeliverableError extends Error {}

/** The message where the setting `login-url` is missing. */
export const noLogin = "This platform has not configured user login";

const maxQueryLength = 8192;
const noApplication = "There is no application with this client_id";
const unregistered = "The application has not registered this redirect_uri";

const AuthorizeQuery = Type.Object({
  response_type: Type.Literal("code", {
    description: "Response type; `code` is the only one.",
    examples: ["code"],
  }),
  client_id: Type.String({ description: "Client id of the application.", examples: [exampleClientId] }),
  redirect_uri: Type.Optional(
    Type.String({
      description:
        "A redirect URI that the application has registered. Optional if it has registered only one.",
      examples: [exampleRedirectUri],
    }),
  ),
  ...scopeField("The default is all scopes of the application."),
  state: Type.Optional(
    Type.String({
      maxLength: loginLimits.maxStateBytes,
      description: "Returned unchanged to the redirect URI. Use an unguessable value.",
    }),
  ),
  code_challenge: Type.String({
    pattern: "^[A-Za-z0-9_-]{43}$",
    description: "SHA-256 of the code verifier, in base64url (RFC 7636).",
    examples: ["E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"],
  }),
  code_challenge_method: Type.Literal("S256", {
    description: "Challenge method; `S256` is the only one.",
    examples: ["S256"],
  }),
  response_mode: Type.Optional(
    Type.Literal("query", { description: "Response mode; `query` is the only one." }),
  ),
});

const GoesOn = noContent("A redirect to the platform or back to the application.", {
  Location: {
    description: "URL of the platform's login page, or the redirect URI of the application.",
    schema: { type: "string", format: "uri" },
    example: `${exampleRedirectUri}?error=access_denied&state=xyz`,
  },
});

/**
 * `GET /oauth/authorize` (RFC 6749, section 4.1.1): redirects the browser to the platform's login and consent page with
 * a challenge, which contains the request. The platform redirects it back here with a verifier, and this route then
 * redirects it to the application with a code or an error.
 */
export function authorizeRoute(app: PublicListener, deps: PublicDeps): void {
  app.get(
    oauthPaths.authorize,
    async ({ requestContext, request }) => {
      try {
        const at = request.url.indexOf("?");
        const query = at === -1 ? "" : request.url.slice(at + 1);
        if (query.length > maxQueryLength)
          throw new UndeliverableError(`The request may have at most ${maxQueryLength} characters`);
        const oauthParameters = readParameters(query);
        const verifier = oauthParameters.parameters.get("login_verifier");
        return verifier === undefined
          ? await startLogin(deps, requestContext, oauthParameters)
          : await finishLogin(deps, requestContext, verifier);
      } catch (error) {
        if (!(error instanceof UndeliverableError)) throw error;
        return replyToPerson(requestContext, deps.look, "invalid_request", error.message);
      }
    },
    {
      anyone: true,
      response: { 303: GoesOn, 400: file("A page that explains the error to the user.", "text/html") },
      errors: ["invalid_request", "unsupported_response_type", "invalid_scope", "server_error"],
      detail: {
        operationId: "authorize",
        tags: ["Tokens"],
        summary: "Ask a user for consent",
        description:
          "Starts the sign-in of a user: redirect the user's browser here (RFC 6749, section 4.1.1, with PKCE). The browser is redirected to the login and consent page of the platform, and then to your `redirect_uri` with `code`, `state` and `iss`, or with `error` and `error_description`. If the request is invalid, the browser is not redirected: the user sees the error and, unless the application or its `redirect_uri` is invalid, a link to your `redirect_uri` with `error`, `error_description`, `state` and `iss`.",
        // Read by the handler, because a page for the user explains most errors.
        queryRead: AuthorizeQuery,
      },
    },
  );
}

async function startLogin(
  deps: PublicDeps,
  requestContext: RequestContext,
  oauthParameters: RequestParameters,
): Promise<Response> {
  const { challenges, now, publicUrl, loginUrl } = deps;
  const { parameters, repeated } = oauthParameters;
  const application = await requestingApplication(deps, oauthParameters);
  const redirectUri = requestedRedirectUri(application, oauthParameters);
  const state = repeated.has("state") ? null : (parameters.get("state") ?? null);
  try {
    const { scopes, codeChallenge } = readRequest(application, oauthParameters);
    if (loginUrl === null) throw new OAuthError("server_error", noLogin);
    const cookies = browserCookies(publicUrl(), loginLifetimeMs);
    const [browser = cookies.make()] = cookies.read(requestContext.request);
    const challenge = challenges.make({
      applicationId: application.id,
      redirectUri,
      scopes,
      state,
      codeChallenge,
      browserHash: secretHash(browser),
      expiresAt: now() + loginLifetimeMs,
    });
    const location = withParameters(loginUrl, { login_challenge: challenge });
    return redirect(requestContext, location, cookies.header(browser));
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    const answer = { error: error.code, error_description: error.message, state, iss: publicUrl() };
    const asking = { name: application.name, errorUri: withParameters(redirectUri, answer) };
    return replyToPerson(requestContext, deps.look, error.code, error.message, asking);
  }
}

async function requestingApplication(
  { store }: PublicDeps,
  { parameters, repeated }: RequestParameters,
): Promise<Application> {
  const id = parameters.get("client_id");
  if (id === undefined) throw new UndeliverableError("The request has no client_id");
  if (repeated.has("client_id")) throw new UndeliverableError("client_id is given more than once");
  const application = await store.applications.find(id);
  if (!application || application.disabled) throw new UndeliverableError(noApplication);
  return application;
}

/** Returns the redirect URI. It is optional if the application has a single URI (RFC 6749, section 3.1.2.3). */
function requestedRedirectUri(application: Application, { parameters, repeated }: RequestParameters): string {
  const requested = parameters.get("redirect_uri");
  const [only, another] = application.redirect_uris;
  if (requested === undefined && only !== undefined && another === undefined) return only;
  if (requested === undefined) throw new UndeliverableError("The request has no redirect_uri");
  if (repeated.has("redirect_uri")) throw new UndeliverableError("redirect_uri is given more than once");
  if (!isRegistered(requested, application)) throw new UndeliverableError(unregistered);
  return requested;
}

/** Checks the request. PKCE with S256 is required for all clients (OAuth 2.1; RFC 7636, section 4.4.1). */
function readRequest(application: Application, { parameters, repeated }: RequestParameters) {
  const refuse = (message: string) => new OAuthError("invalid_request", message);
  if (repeated.size > 0) throw refuse(repetition(repeated, [AuthorizeQuery]));
  if (parameters.get("state")?.includes("\0")) throw refuse("state must not contain a NUL character");
  if (Buffer.byteLength(parameters.get("state") ?? "") > loginLimits.maxStateBytes) {
    throw refuse(`state may have at most ${loginLimits.maxStateBytes} bytes`);
  }
  const responseType = parameters.get("response_type");
  if (responseType === undefined) throw refuse("response_type is required");
  if (responseType !== "code") {
    throw new OAuthError("unsupported_response_type", "The supported response_type is code");
  }
  if ((parameters.get("response_mode") ?? "query") !== "query") {
    throw refuse("The supported response_mode is query");
  }
  const codeChallenge = parameters.get("code_challenge");
  if (codeChallenge === undefined) throw refuse("code_challenge is required");
  if (parameters.get("code_challenge_method") !== "S256") throw refuse("code_challenge_method must be S256");
  if (!/^[A-Za-z0-9_-]{43}$/.test(codeChallenge)) {
    throw refuse("code_challenge must be the SHA-256 of the code_verifier in base64url, 43 characters");
  }
  const scopes = readScopes(parameters.get("scope"), application.scopes);
  // The platform could only reject a request without scopes.
  if (scopes.length === 0) throw new OAuthError("invalid_scope", "The application has no scopes");
  return { scopes, codeChallenge };
}

async function finishLogin(
  { store, now, publicUrl }: PublicDeps,
  requestContext: RequestContext,
  verifier: string,
): Promise<Response> {
  const browsers = browserCookies(publicUrl(), loginLifetimeMs).read(requestContext.request);
  const code = newSecret("onair_ac_");
  const login =
    browsers.length > 0 &&
    (await store.loginRequests.redeem(
      secretHash(verifier),
      browsers.map(secretHash),
      secretHash(code),
      now(),
    ));
  if (!login) {
    throw new UndeliverableError(
      "This sign-in has ended already, took too long, or began in another browser",
    );
  }
  const { answer, applicationId, redirectUri, state } = login;
  // The application or redirect URI may have been removed during the login.
  const application = await store.applications.find(applicationId);
  if (!application || application.disabled) throw new UndeliverableError(noApplication);
  if (!isRegistered(redirectUri, application)) throw new UndeliverableError(unregistered);
  // `iss` tells a client of several servers which server responds (RFC 9207).
  const always = { state, iss: publicUrl() };
  return redirect(
    requestContext,
    "error" in answer
      ? withParameters(redirectUri, {
          error: answer.error,
          error_description: answer.errorDescription,
          ...always,
        })
      : withParameters(redirectUri, { code, ...always }),
  );
}
