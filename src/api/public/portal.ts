import { Type } from "@sinclair/typebox";
import type { Application } from "../../domain/applications.ts";
import { DomainError } from "../../domain/errors.ts";
import { exampleUser } from "../../domain/examples.ts";
import { ulidPattern } from "../../domain/ids.ts";
import { isoTime, minute } from "../../domain/time.ts";
import { codeChallenge, loginLifetimeMs, newSecret, secretHash, sessionFamily } from "../../domain/tokens.ts";
import { searchLimits } from "../../domain/users.ts";
import type { FoundUsers, LoginBegun, OwnedApplications, PortalSession } from "../../web/session.ts";
import { reply, replyJson } from "../http/context.ts";
import { oauthPaths } from "../http/errors.ts";
import { requireClientStill } from "../http/oauth.ts";
import { isFromPage, pageCookie, pageRoutes, sessionMs } from "../http/pages.ts";
import {
  IdParameter,
  ListParameter,
  noOtherFields,
  optionalFields,
  TextParameter,
} from "../http/parameters.ts";
import type { PublicDeps, PublicListener, TokenListener } from "./listener.ts";
import { usersById, usersFor } from "./users.ts";

/** The cookie that carries a session of the portal. */
export const portalCookie = pageCookie("onair_portal");

const path = "/portal/session";
const detail = { hide: true };

/**
 * The portal for developers, and the start of its sessions. A session is a short-lived access token of the application
 * itself in a cookie. It is stored hashed, and has a rate limit of its own. It ends when the application's tokens are
 * revoked, its client secret is rotated, or its owner changes.
 */
export function portalRoutes(app: PublicListener, deps: PublicDeps): void {
  const { portal: look } = deps;
  if (!look) return;
  app.post(
    path,
    async ({ requestContext, oauthClient }) => {
      const { request } = requestContext;
      requirePortal(request);
      const { session, token } = await beginSession(deps, oauthClient);
      await requireClientStill(deps, requestContext, secretHash(token));
      const header = portalCookie.set(request, token, sessionMs / 1000);
      return replyJson(requestContext, 200, session, { "set-cookie": header });
    },
    { oauthClient: "confidential", detail },
  );
  pageRoutes(app, {
    page: "portal",
    path: "/portal",
    look: deps.welcome ? { ...look, home: () => `${deps.publicUrl()}/welcome` } : look,
    prefix: () => new URL(deps.publicUrl()).pathname.replace(/\/$/, ""),
  });
}

/** Throws `invalid_parameter` unless a script of the portal made the request. */
function requirePortal(request: Request): void {
  if (!isFromPage(request)) throw new DomainError("invalid_parameter", "Only the portal can begin a session");
}

/** Begins a session of an application. */
export async function beginSession(
  { store, now }: Pick<PublicDeps, "store" | "now">,
  { id, name, scopes }: Application,
): Promise<{ session: PortalSession; token: string }> {
  const token = newSecret("onair_at_");
  const createdAt = now();
  const expiresAt = createdAt + sessionMs;
  const grant = { applicationId: id, userId: null, scopes, createdAt, expiresAt };
  await store.tokens.create(secretHash(token), grant, sessionFamily(id));
  return { session: { application: { id, name }, expires_at: isoTime(expiresAt) }, token };
}

/** The routes that get and end the session of a signed-in portal. */
export function portalSessionRoutes(app: TokenListener, { store, portal }: PublicDeps): void {
  if (!portal) return;
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
      return reply(requestContext, 204, null, { "set-cookie": portalCookie.clear(requestContext.request) });
    },
    { application: "reads", detail },
  );
}

const maxFound = 20;
const maxIds = 100;

const UsersQuery = Type.Object(
  optionalFields({
    find: TextParameter({ trim: true, minLength: 1, maxLength: searchLimits.maxQuery }),
    id: ListParameter({ items: IdParameter("user", exampleUser.id), minItems: 1, maxItems: maxIds }),
  }),
);

/**
 * Finds users for the fields of the portal that are about a user, by a part of a name or an id, or by ids. Search Users
 * of the public API takes no id and no text of fewer than three characters.
 */
export function portalUserRoutes(app: TokenListener, { store, portal }: PublicDeps): void {
  if (!portal) return;
  app.get(
    "/portal/users",
    async ({ query: { find, id = [] } }): Promise<FoundUsers> => {
      const users = find === undefined ? await usersById(store, id) : await usersFor(store, find, maxFound);
      return {
        data: users.map(({ id, username, display_name, profile_picture, followers_count, is_verified }) => {
          return { id, username, display_name, profile_picture, followers_count, is_verified };
        }),
      };
    },
    { scope: "users:read", query: UsersQuery, detail },
  );
}

/** How long a signed-in owner may take to choose an application. */
const choiceLifetimeMs = 10 * minute;
/** The most applications to choose from. */
const maxOwned = 100;

const Answer = Type.Object({ code: Type.String({ maxLength: 200 }) }, noOtherFields);
const Choice = Type.Object({ application_id: Type.String({ pattern: ulidPattern }) }, noOtherFields);

/**
 * The login of application owners to the portal. The portal is an OAuth client of this server's own authorization
 * endpoint, as the application `portalLogin`. The code only identifies the user; its tokens are revoked at once. PKCE
 * binds the code to the browser that began the login: its verifier is in a cookie that scripts cannot read.
 */
export function ownerLoginRoutes(app: PublicListener, deps: PublicDeps): void {
  const { publicUrl, portal, portalLogin: loginId } = deps;
  if (!portal || !loginId) return;
  // Holds the verifier, and later the token that identifies the signed-in user.
  const cookie = pageCookie("onair_portal_login");
  const redirectUri = () => `${publicUrl()}/portal/signed-in`;

  app.post(
    "/portal/login",
    ({ requestContext, request }) => {
      requirePortal(request);
      const verifier = newSecret("onair_po_");
      const query = new URLSearchParams({
        response_type: "code",
        client_id: loginId,
        redirect_uri: redirectUri(),
        code_challenge: codeChallenge(verifier),
        code_challenge_method: "S256",
      });
      const begun: LoginBegun = { location: `${publicUrl()}${oauthPaths.authorize}?${query}` };
      const header = cookie.set(request, verifier, loginLifetimeMs / 1000);
      return replyJson(requestContext, 200, begun, { "set-cookie": header });
    },
    { anyone: true, detail },
  );

  app.post(
    "/portal/login/answer",
    async ({ requestContext, request, body: { code } }) => {
      requirePortal(request);
      const presented = {
        applicationId: loginId,
        redirectUri: redirectUri(),
        codeVerifier: cookie.read(request) ?? "",
      };
      const userId = await userOf(deps, code, presented);
      const choice = newSecret("onair_po_");
      const createdAt = deps.now();
      const expiresAt = createdAt + choiceLifetimeMs;
      const grant = { applicationId: loginId, userId, scopes: [], createdAt, expiresAt };
      await deps.store.tokens.create(secretHash(choice), grant);
      const owned = await ownedBy(deps, userId);
      const answer: OwnedApplications = { applications: owned.map(({ id, name }) => ({ id, name })) };
      const header = cookie.set(request, choice, choiceLifetimeMs / 1000);
      return replyJson(requestContext, 200, answer, { "set-cookie": header });
    },
    { anyone: true, body: Answer, detail },
  );

  app.post(
    "/portal/login/session",
    async ({ requestContext, request, body: { application_id: id } }) => {
      requirePortal(request);
      const hash = secretHash(cookie.read(request) ?? "");
      const userId = await chooser(deps, hash, loginId);
      const application = await ownApplication(deps, id, userId);
      const { session: begun, token } = await beginSession(deps, application);
      // A change of the owner ends existing sessions. A change before this session began is noticed only here.
      try {
        await ownApplication(deps, id, userId);
      } catch (error) {
        await deps.store.tokens.revoke(secretHash(token), id);
        throw error;
      }
      await deps.store.tokens.revoke(hash, loginId);
      const header = portalCookie.set(request, token, sessionMs / 1000);
      return replyJson(requestContext, 200, begun, { "set-cookie": header });
    },
    { anyone: true, body: Choice, detail },
  );
}

const ended = () =>
  new DomainError(
    "invalid_parameter",
    "This sign-in has already ended, took too long, or began in another browser; sign in again",
  );

/** Redeems a code and returns the id of its user. The tokens of the code are revoked at once. */
async function userOf(
  { store, now }: PublicDeps,
  code: string,
  presented: { applicationId: string; redirectUri: string; codeVerifier: string },
): Promise<number> {
  const refreshHash = secretHash(newSecret("onair_rt_"));
  const tokens = { accessHash: secretHash(newSecret("onair_at_")), refreshHash };
  const exchanged = await store.tokens.redeemCode(secretHash(code), presented, tokens, now());
  if (!("grant" in exchanged) || exchanged.grant.userId === null) throw ended();
  await store.tokens.revoke(refreshHash, presented.applicationId);
  return exchanged.grant.userId;
}

/**
 * Returns the id of the signed-in user. Only the login creates tokens without scopes, so that a token that the login's
 * application got for a user does not open the portal.
 */
async function chooser({ store, now }: PublicDeps, hash: Uint8Array, loginId: string): Promise<number> {
  const grant = await store.tokens.find(hash);
  if (!grant || grant.applicationId !== loginId || grant.scopes.length > 0) throw ended();
  if (grant.userId === null || grant.expiresAt <= now()) throw ended();
  return grant.userId;
}

async function ownedBy({ store }: PublicDeps, userId: number): Promise<Application[]> {
  const owned = await store.applications.page("", maxOwned, { owner_user_id: userId });
  return owned.filter(({ disabled }) => !disabled);
}

async function ownApplication({ store }: PublicDeps, id: string, userId: number): Promise<Application> {
  const application = await store.applications.find(id);
  if (application && !application.disabled && application.owner_user_id === userId) return application;
  throw new DomainError("not_found", "You have no application with this id");
}
