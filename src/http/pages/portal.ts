import type { PortalSession } from "../../console/session.ts";
import { DomainError } from "../../domain/errors.ts";
import { hour, isoTime } from "../../domain/time.ts";
import { newSecret, secretHash, sessionFamily } from "../../domain/tokens.ts";
import type { PublicDeps, PublicListener, TokenListener } from "../public/base.ts";
import { reply, replyJson } from "../request-context.ts";
import { isFromPage, type PageCookie } from "./cookie.ts";
import { pageRoutes } from "./files.ts";

const path = "/portal/session";
const detail = { hide: true };
const lifetimeMs = 12 * hour;

/**
 * The portal for developers, and the begin of its sessions. A session is an access token of the application itself,
 * short-lived and carried by a cookie: it is kept hashed, ends with the application's other tokens, with its client secret
 * and with its owner, and takes from the application's rate limit.
 */
export function portalRoutes(app: PublicListener, deps: PublicDeps, cookie: PageCookie): void {
  const { store, now, publicUrl, portal } = deps;
  app.post(
    path,
    async ({ requestContext, client }) => {
      const { request } = requestContext;
      if (!isFromPage(request))
        throw new DomainError("invalid_parameter", "Only the portal begins a session");
      const token = newSecret("onair_at_");
      const expiresAt = now() + lifetimeMs;
      const { id, name, scopes } = client;
      const grant = { applicationId: id, userId: null, scopes, expiresAt };
      await store.tokens.create(secretHash(token), grant, sessionFamily(id));
      const session: PortalSession = { application: { id, name }, expires_at: isoTime(expiresAt) };
      return replyJson(requestContext, 200, session, {
        "set-cookie": cookie.set(request, token, lifetimeMs / 1000),
      });
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
