import { DomainError } from "../../domain/errors.ts";
import { versionWithCommit } from "../../runtime/version.ts";
import type { ConsoleSession } from "../../web/session.ts";
import { hasBearer } from "../http/access.ts";
import { type RequestContext, reply, replyJson } from "../http/context.ts";
import { isFromPage, pageRoutes } from "../http/pages.ts";
import { type AdminDeps, type AdminListener, everyRole } from "./listener.ts";
import type { OperatorSessions } from "./operator-keys.ts";

interface ConsoleRouteOptions extends Pick<AdminDeps, "publicUrl" | "welcomeUrl"> {
  readonly sessions: OperatorSessions;
}

const consolePath = "/console/session";

/** These operations are not documented, because only the page uses them. The audit log has their names. */
const detail = (operationId: string) => ({ hide: true, operationId });

/**
 * The console for operators, and its sessions: a request with an operator key as bearer token begins a session, which a
 * cookie identifies. The root of the listener redirects to the console.
 */
export function consoleRoutes(
  app: AdminListener,
  { sessions, publicUrl, welcomeUrl }: ConsoleRouteOptions,
): void {
  const sessionOf = ({ operatorKey }: RequestContext): ConsoleSession => {
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
      return replyJson(requestContext, 200, sessionOf(requestContext), { "set-cookie": cookie });
    },
    { roles: everyRole, detail: detail("beginConsoleSession") },
  );
  app.get(consolePath, ({ requestContext }) => sessionOf(requestContext), {
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
  const look = { title: "On Air console", ...(welcomeUrl && { home: welcomeUrl }) };
  pageRoutes(app, { page: "console", path: "/console", look });
}
