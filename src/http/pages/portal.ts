import type { PortalSession } from "../../console/session.ts";
import type { Application } from "../../domain/applications.ts";
import { DomainError } from "../../domain/errors.ts";
import { isoTime } from "../../domain/time.ts";
import { newSecret, secretHash, sessionFamily } from "../../domain/tokens.ts";
import { requireClientStill } from "../oauth/client.ts";
import type { PublicDeps, PublicListener, TokenListener } from "../public/base.ts";
import { reply, replyJson } from "../request-context.ts";
import { isFromPage, type PageCookie, sessionMs } from "./cookie.ts";
import { pageRoutes } from "./files.ts";

const path = "/portal/session";
const detail = { hide: true };

/**
 * The portal for developers, and the begin of its sessions. A session is an access token of the application itself,
 * short-lived and carried by a cookie: it is kept hashed, ends with the application's other tokens, with its client secret
 * and with its owner, and takes from the application's rate limit.
 */
export function portalRoutes(app: PublicListener, deps: PublicDeps, cookie: PageCookie): void {
  const { publicUrl, portal } = deps;
  app.post(
    path,
    async ({ requestContext, client }) => {
      const { request } = requestContext;
      requirePortal(request);
      const { session, token } = await beginSession(deps, client);
      await requireClientStill(deps, requestContext, secretHash(token));
      return replyJson(requestContext, 200, session, { "set-cookie": sessionCookie(cookie, request, token) });
    },
    { client: "confidential", detail },
  );
  pageRoutes(app, {
    page: "portal",
    path: "/portal",
    look: portal ?? {},
    prefix: () => new URL(publicUrl()).pathname.replace(/\/$/, ""),
  });
}

/** Throws `invalid_parameter` for a request that no script of the portal has made. */
export function requirePortal(request: Request): void {
  if (!isFromPage(request)) throw new DomainError("invalid_parameter", "Only the portal begins a session");
}

/** A new session of this application. */
export async function beginSession(
  { store, now }: Pick<PublicDeps, "store" | "now">,
  { id, name, scopes }: Application,
): Promise<{ session: PortalSession; token: string }> {
  const token = newSecret("onair_at_");
  const expiresAt = now() + sessionMs;
  const grant = { applicationId: id, userId: null, scopes, expiresAt };
  await store.tokens.create(secretHash(token), grant, sessionFamily(id));
  return { session: { application: { id, name }, expires_at: isoTime(expiresAt) }, token };
}

/** The header that gives a session to the browser. */
export function sessionCookie(cookie: PageCookie, request: Request, token: string): string {
  return cookie.set(request, token, sessionMs / 1000);
}

/** The session of a signed-in portal: what it is, and its end. */
export function portalSessionRoutes(app: TokenListener, { store }: PublicDeps, cookie: PageCookie): void {
  app.get(
    path,
    ({ caller: { application, grant } }): PortalSession => {
      const { id, name } = application;
      return { application: { id, name }, expires_at: isoTime(grant.expiresAt) };
    },
    { application: "reads", detail },
  );
  app.delete(
    path,
    async ({ requestContext, caller: { application, tokenHash } }) => {
      if (tokenHash !== null) await store.tokens.revoke(tokenHash, application.id);
      return reply(requestContext, 204, null, { "set-cookie": cookie.clear(requestContext.request) });
    },
    { application: "reads", detail },
  );
}
