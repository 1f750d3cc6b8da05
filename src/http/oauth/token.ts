import { timingSafeEqual } from "node:crypto";
import type { Application } from "../../domain/applications.ts";
import { appTokenLifetimeMs, newSecret, parseScopes, type Scope, secretHash } from "../../domain/tokens.ts";
import type { Store } from "../../store/store.ts";
import { publicBodyBytes, readBytes, requireMediaType } from "../body.ts";
import { type Exchange, replyJson } from "../exchange.ts";
import type { PublicDeps, PublicListener } from "../public/base.ts";

type OAuthErrorCode =
  | "invalid_request"
  | "invalid_client"
  | "unauthorized_client"
  | "unsupported_grant_type"
  | "invalid_scope";

/** An error of the token endpoint (RFC 6749, section 5.2), which has a shape of its own. */
class OAuthError extends Error {
  constructor(
    readonly code: OAuthErrorCode,
    message: string,
  ) {
    super(message);
  }
}

const path = "/oauth/token";

/** `POST /oauth/token` with the grant `client_credentials` (RFC 6749, section 4.4). */
export function tokenRoute(app: PublicListener, { store, now }: PublicDeps, detail: object): void {
  app.post(
    path,
    async ({ exchange, request }) => {
      try {
        requireMediaType(request, "application/x-www-form-urlencoded");
        const form = readForm(await readBytes(request, publicBodyBytes));
        const application = await authenticateClient(store, request.headers.get("authorization"), form);
        requireGrantType(form);
        const scopes = grantedScopes(application, form.get("scope"));
        const token = newSecret("onair_at_");
        const expiresAt = now() + appTokenLifetimeMs;
        await store.tokens.create(secretHash(token), {
          applicationId: application.id,
          userId: null,
          scopes,
          expiresAt,
        });
        const answer = {
          access_token: token,
          token_type: "Bearer",
          expires_in: appTokenLifetimeMs / 1000,
          scope: scopes.join(" "),
        };
        return replyJson(exchange, 200, answer, { pragma: "no-cache" });
      } catch (error) {
        if (error instanceof OAuthError) return replyOAuthError(exchange, error);
        throw error;
      }
    },
    { access: "anyone", parse: "none", detail },
  );
}

function replyOAuthError(exchange: Exchange, { code, message }: OAuthError): Response {
  const headers: Record<string, string> = { pragma: "no-cache" };
  if (code === "invalid_client") headers["www-authenticate"] = `Basic realm="onair"`;
  const status = code === "invalid_client" ? 401 : 400;
  return replyJson(exchange, status, { error: code, error_description: message }, headers);
}

function readForm(bytes: Uint8Array): ReadonlyMap<string, string> {
  const form = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(Buffer.from(bytes).toString())) {
    // RFC 6749, section 3.2: parameters must not be repeated, and one without a value counts as left out.
    if (form.has(name)) throw new OAuthError("invalid_request", "A parameter is given more than once");
    if (value !== "") form.set(name, value);
  }
  return form;
}

function requireGrantType(form: ReadonlyMap<string, string>): void {
  const grantType = form.get("grant_type");
  if (grantType === undefined) throw new OAuthError("invalid_request", "grant_type is required");
  if (grantType !== "client_credentials") {
    throw new OAuthError("unsupported_grant_type", "The supported grant_type is client_credentials");
  }
}

const unknownClient = Buffer.alloc(32);

/** Client authentication by Basic or in the form (RFC 6749, section 2.3.1), one of them. */
async function authenticateClient(
  store: Store,
  authorization: string | null,
  form: ReadonlyMap<string, string>,
): Promise<Application> {
  const basic = authorization === null ? null : readBasic(authorization);
  if (basic && form.has("client_secret")) {
    throw new OAuthError("invalid_request", "The client must authenticate in one way, not in two");
  }
  const id = basic?.id ?? form.get("client_id");
  const secret = basic?.secret ?? form.get("client_secret");
  if (id === undefined || secret === undefined) {
    throw new OAuthError(
      "invalid_client",
      "The client must authenticate with its client_id and client_secret",
    );
  }
  const application = await store.applications.find(id);
  const hash = (await store.applications.clientSecretHash(id)) ?? unknownClient;
  const matches = timingSafeEqual(secretHash(secret), hash);
  if (!application || !matches)
    throw new OAuthError("invalid_client", "The client_id or client_secret is wrong");
  return application;
}

function readBasic(authorization: string): { id: string; secret: string } | null {
  const encoded = /^basic +([A-Za-z0-9+/=_-]+)$/i.exec(authorization)?.[1];
  if (encoded === undefined) throw new OAuthError("invalid_client", "The Authorization header must be Basic");
  const text = Buffer.from(encoded, "base64").toString();
  const colon = text.indexOf(":");
  if (colon === -1) throw new OAuthError("invalid_client", "The Authorization header is not valid Basic");
  try {
    const decode = (part: string) => decodeURIComponent(part.replaceAll("+", " "));
    return { id: decode(text.slice(0, colon)), secret: decode(text.slice(colon + 1)) };
  } catch {
    throw new OAuthError("invalid_client", "The Authorization header is not valid Basic");
  }
}

function grantedScopes(application: Application, asked: string | undefined): readonly Scope[] {
  if (asked === undefined) return application.scopes;
  const wanted = parseScopes(asked);
  if (!wanted) throw new OAuthError("invalid_scope", "The scope names one that does not exist");
  if (wanted.some((scope) => !application.scopes.includes(scope))) {
    throw new OAuthError("invalid_scope", "The application may not have all of these scopes");
  }
  return wanted;
}
