import { Type } from "@sinclair/typebox";
import { DomainError } from "../../domain/errors.ts";
import { oneOf } from "../../domain/validation/fields.ts";
import { isThisMachineAlone } from "../../runtime/client-address.ts";
import type { WelcomeSignIn } from "../../web/session.ts";
import { isBrowser } from "../http/content.ts";
import { type RequestContext, reply, replyJson } from "../http/context.ts";
import {
  docsPath,
  found,
  isFromPage,
  isLoopbackHost,
  knownHosts,
  pageRoute,
  pageRoutes,
  sessionMs,
} from "../http/pages.ts";
import { noOtherFields } from "../http/parameters.ts";
import { replyStream } from "../stream/event-stream.ts";
import type { PublicDeps, PublicListener } from "./listener.ts";
import { beginSession, portalCookie } from "./portal.ts";

/** The root of the listener leads a browser to the documentation. For other clients it is an unknown path. */
function rootRoute(app: PublicListener): void {
  pageRoute(app, "page", "/", (requestContext) => {
    if (!isBrowser(requestContext)) return found({}, "/");
    // Relative, because a proxy may serve the listener below another path.
    const headers = { location: docsPath.slice(1), vary: "accept" };
    return reply(requestContext, 302, null, headers);
  });
}

const isOwnHost = knownHosts([]);

/** Headers with which proxies and tunnels say that they forward. */
const forwarding = /^(x-forwarded-|x-real-ip$|x-client-ip$|forwarded$|via$|(cf|true-client)-)/;

/**
 * Whether a browser on this machine has sent the request, with nothing in between. A proxy or a tunnel also connects
 * from this machine. One that adds no header of its own either keeps the `Host` that the visitor used, or does not pass
 * on `Connection`, which is of one connection only (RFC 9110, section 7.6.1). Browsers send `keep-alive` there. A
 * program that makes requests of its own, as with `fetch`, cannot be told from a browser: see docs/console.md.
 */
function isHere({ request: { headers }, clientAddress }: RequestContext): boolean {
  if (!isThisMachineAlone(clientAddress) || !isLoopbackHost(headers.get("host"))) return false;
  if (headers.get("connection")?.toLowerCase() !== "keep-alive") return false;
  return ![...headers.keys()].some((name) => forwarding.test(name));
}

const nothingHere = () => new DomainError("not_found", "There is nothing at this path");

const SignInBody = Type.Object({ to: oneOf(["portal", "guide", "console"], {}) }, noOtherFields);

/** Returns a URL under the name that the browser uses for this machine, so that its cookie is sent there. */
function besideHost(url: string, host: string | null): string {
  const beside = new URL(url);
  if (/^localhost(:|$)/i.test(host ?? "")) beside.hostname = "localhost";
  return beside.href.replace(/\/$/, "");
}

/**
 * The root of the public listener: the start page of `onair dev`, or the way to the documentation. The start page
 * shows secrets, so its data is available only to the page itself and under host names that cannot be rebound; secrets
 * are sent only to this machine.
 */
export function welcomeRoutes(app: PublicListener, deps: PublicDeps): void {
  const { outcomes, welcome, store } = deps;
  if (!welcome) {
    rootRoute(app);
    return;
  }
  const requirePage = (request: Request) => {
    if (isFromPage(request) && isOwnHost(request.headers.get("host"))) return;
    throw nothingHere();
  };
  app.get(
    "/welcome/facts",
    async ({ requestContext }) => {
      requirePage(requestContext.request);
      const facts = await welcome.facts();
      return isHere(requestContext) ? facts : { ...facts, secrets: null };
    },
    { unlimited: true, detail: { hide: true } },
  );
  // The click that opens the portal as the Dev app or the Guide app, or the console. A client that can make
  // it can also read the secrets of the facts.
  app.post(
    "/welcome/sign-in",
    async ({ requestContext, body: { to } }) => {
      const { request } = requestContext;
      requirePage(request);
      const host = request.headers.get("host");
      const { secrets, admin_url, guide_id } = await welcome.facts();
      if (!isHere(requestContext) || !secrets) throw nothingHere();
      const answered = (location: string, cookie: string) => {
        const signIn: WelcomeSignIn = { location };
        return replyJson(requestContext, 200, signIn, { "set-cookie": cookie });
      };
      if (to === "console")
        return answered(`${besideHost(admin_url, host)}/console`, await welcome.consoleCookie());
      const id = to === "guide" ? guide_id : secrets.client_id;
      const application = deps.portal && (await store.applications.find(id));
      if (!application || application.disabled) throw nothingHere();
      const { token } = await beginSession(deps, application);
      return answered("/portal", portalCookie.set(request, token, sessionMs / 1000));
    },
    { anyone: true, body: SignInBody, detail: { hide: true } },
  );
  welcome.onInbox(() => outcomes.changed("inbox"));
  app.get(
    "/welcome/events",
    ({ requestContext }) => {
      requirePage(requestContext.request);
      const of = { applicationId: "", topics: ["inbox"], isAllowed: async () => true };
      return replyStream(requestContext, (cut) => outcomes.open({ ...of, cut }));
    },
    { unlimited: true, detail: { hide: true } },
  );
  pageRoutes(app, {
    page: "welcome",
    path: "/welcome",
    isRoot: true,
    look: { title: "On Air, for development" },
  });
}
