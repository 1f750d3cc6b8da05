import type { AnyElysia } from "elysia";
import { DomainError } from "../../domain/errors.ts";
import { isThisMachineAlone } from "../../runtime/client-address.ts";
import { versionWithCommit } from "../../runtime/version.ts";
import type { ConsoleSession, WelcomeSource } from "../../web/session.ts";
import { type AdminListener, everyRole, knownHosts } from "../admin/listener.ts";
import { hasBearer } from "../http/access.ts";
import { kept, replyCompressed, replyContent } from "../http/content.ts";
import { type RequestContext, reply, replyJson } from "../http/context.ts";
import type { PublicDeps, PublicListener } from "../public/listener.ts";
import { replyStream } from "../stream/event-stream.ts";
import {
  contentsOf,
  font,
  fontHeaders,
  fontPath,
  found,
  pageFiles,
  pageHeaders,
  pageRoute,
  pageRoutes,
  replyFile,
} from "./files.ts";
import { isFromPage, type OperatorSessions } from "./sessions.ts";

interface ConsoleRouteOptions {
  readonly sessions: OperatorSessions;
  readonly publicUrl: () => string;
}

const consolePath = "/console/session";
/** These operations are not documented, because only the page uses them. The audit log has their names. */
const detail = (operationId: string) => ({ hide: true, operationId });

/**
 * The console for operators, and its sessions: a request with an operator key as bearer token begins a session, which a
 * cookie identifies. The root of the listener redirects to the console.
 */
export function consoleRoutes(app: AdminListener, { sessions, publicUrl }: ConsoleRouteOptions): void {
  const shown = ({ operatorKey }: RequestContext): ConsoleSession => {
    if (operatorKey === null) throw new Error("The request has passed no gate");
    const { id, name, role } = operatorKey;
    return { key: { id, name, role }, version: versionWithCommit, public_url: publicUrl() };
  };
  app.post(
    consolePath,
    async ({ requestContext }) => {
      const { request, operatorKey } = requestContext;
      // A session must not begin another one, because it could then be extended for ever.
      if (operatorKey === null || !hasBearer(request) || !isFromPage(request)) {
        throw new DomainError("invalid_parameter", "Only the console can begin a session");
      }
      const cookie = await sessions.begin(request, operatorKey);
      return replyJson(requestContext, 200, shown(requestContext), { "set-cookie": cookie });
    },
    { roles: everyRole, detail: detail("beginConsoleSession") },
  );
  app.get(consolePath, ({ requestContext }) => shown(requestContext), {
    roles: everyRole,
    detail: detail("getConsoleSession"),
  });
  app.delete(
    consolePath,
    async ({ requestContext }) => {
      return reply(requestContext, 204, null, { "set-cookie": await sessions.end(requestContext.request) });
    },
    { roles: everyRole, detail: detail("endConsoleSession") },
  );
  app.get("/", ({ requestContext }) => reply(requestContext, 302, null, { location: "/console" }), {
    keyless: true,
    detail: { hide: true },
  });
  pageRoutes(app, { page: "console", path: "/console", look: { title: "On Air console" } });
}

const docsPath = "/docs";

/** The documentation, loaded when it is first asked for. */
const site = kept(async () => {
  const { files, ...names } = await (await import("../../web/site/bundle.ts")).site();
  return { files: contentsOf(files), ...names };
});

/** Whether the client is a browser, which gets a page in place of a JSON error. */
const isBrowser = ({ request }: RequestContext) => request.headers.get("accept")?.includes("text/html");

/** Serves the documentation, its files, and the font of pages without files. `/docs/api` is the API reference. */
export function docsRoutes(app: AnyElysia): void {
  for (const of of [docsPath, `${docsPath}/:page`])
    pageRoute(app, "page", of, async (requestContext, { page = "" }) => {
      const { files, pages, missing } = await site();
      if (!Object.hasOwn(pages, page) && isBrowser(requestContext)) {
        const { body } = found(files, missing);
        return reply(requestContext, 404, body, { ...pageHeaders, vary: "accept" });
      }
      return replyCompressed(requestContext, found(files, found(pages, page)), pageHeaders);
    });
  pageRoute(app, "file", fontPath, async (requestContext) =>
    replyContent(requestContext, await font(), fontHeaders),
  );
  pageRoute(app, "file", `${docsPath}/files/:file`, async (requestContext, { file = "" }) => {
    const { files } = await site();
    const content = found(Object.hasOwn(files, file) ? files : (await pageFiles()).files, file);
    return replyFile(requestContext, file, content);
  });
}

const isOwnHost = knownHosts([]);

/** Whether the request comes from this machine. A tunnel also connects from here, but adds a forwarding header. */
function isHere({ request: { headers }, clientAddress }: RequestContext): boolean {
  const isForwarded = headers.has("x-forwarded-for") || headers.has("forwarded");
  return !isForwarded && isThisMachineAlone(clientAddress);
}

/**
 * The start page of `onair dev`, at the root of the public listener. It shows secrets, so its data is available only to
 * the page itself and under host names that cannot be rebound; secrets are sent only to this machine.
 */
export function welcomeRoutes(app: PublicListener, { outcomes }: PublicDeps, welcome: WelcomeSource): void {
  const requirePage = (request: Request) => {
    if (isFromPage(request) && isOwnHost(request.headers.get("host"))) return;
    throw new DomainError("not_found", "There is nothing at this path");
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
