import type { PortalSession } from "../../console/session.ts";
import type { Application } from "../../domain/applications.ts";
import { DomainError } from "../../domain/errors.ts";
import { isoTime } from "../../domain/time.ts";
import { newSecret, secretHash, sessionFamily } from "../../domain/tokens.ts";
import { requireClientStill } from "../oauth/client.ts";
import type { PublicDeps, PublicListener, TokenListener } from "../public/base.ts";
import { reply, replyJson } from "../request-context.ts";
import { isFromPage, type PageCookie, sessionMs } from "./cookie.ts";
import { type PageLook, pageRoutes } from "./files.ts";

const path = "/portal/session";
const detail = { hide: true };

/**
 * The portal for developers, and the start of its sessions. A session is a short-lived access token of the application
 * itself in a cookie. It is stored hashed, and has a rate limit of its own. It ends when the application's tokens are
 * revoked, its client secret is rotated, or its owner changes.
 */
export function portalRoutes(
  app: PublicListener,
  deps: PublicDeps,
  look: PageLook,
  cookie: PageCookie,
): void {
  app.post(
    path,
    async ({ requestContext, client }) => {
      const { request } = requestContext;
      requirePortal(request);
      const { session, token } = await beginSession(deps, client);
      await requireClientStill(deps, requestContext, secretHash(token));
      const header = cookie.set(request, token, sessionMs / 1000);
      return replyJson(requestContext, 200, session, { "set-cookie": header });
    },
    { client: "confidential", detail },
  );
  pageRoutes(app, {
    page: "portal",
    path: "/portal",
    look,
    prefix: () => new URL(deps.publicUrl()).pathname.replace(/\/$/, ""),
  });
}

/** Throws `invalid_parameter` unless a script of the portal made the request. */
export function requirePortal(request: Request): void {
  if (!isFromPage(request)) throw new DomainError("invalid_parameter", "Only the portal can begin a session");
}

/** Begins a session of an application. */
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

/** The routes that get and end the session of a signed-in portal. */
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
