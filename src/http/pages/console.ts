import type { ConsoleSession } from "../../console/session.ts";
import { DomainError } from "../../domain/errors.ts";
import { versionWithCommit } from "../../runtime/version.ts";
import { everyRole } from "../admin/access.ts";
import type { AdminListener } from "../admin/base.ts";
import { hasBearer } from "../auth.ts";
import { type RequestContext, reply, replyJson } from "../request-context.ts";
import { isFromPage } from "./cookie.ts";
import { pageRoutes } from "./files.ts";
import type { OperatorSessions } from "./operator-sessions.ts";

interface ConsoleRouteOptions {
  readonly sessions: OperatorSessions;
  readonly publicUrl: () => string;
}

const path = "/console/session";
/** It is the page's own, and so not in the document; the audit trail has it by this name. */
const detail = (operationId: string) => ({ hide: true, operationId });

/**
 * The console for operators, and its sessions: begun with an operator key as bearer, then known by a cookie. The root of
 * the listener leads to it.
 */
export function consoleRoutes(app: AdminListener, { sessions, publicUrl }: ConsoleRouteOptions): void {
  const told = ({ operatorKey }: RequestContext): ConsoleSession => {
    if (operatorKey === null) throw new Error("The request has passed no gate");
    const { id, name, role } = operatorKey;
    return { key: { id, name, role }, version: versionWithCommit, public_url: publicUrl() };
  };
  app.post(
    path,
    async ({ requestContext }) => {
      const { request, operatorKey } = requestContext;
      // Not by the cookie of a session, which would so have no end.
      if (operatorKey === null || !hasBearer(request) || !isFromPage(request)) {
        throw new DomainError("invalid_parameter", "Only the console begins a session");
      }
      const cookie = await sessions.begin(request, operatorKey);
      return replyJson(requestContext, 200, told(requestContext), { "set-cookie": cookie });
    },
    { roles: everyRole, detail: detail("beginConsoleSession") },
  );
  app.get(path, ({ requestContext }) => told(requestContext), {
    roles: everyRole,
    detail: detail("getConsoleSession"),
  });
  app.delete(
    path,
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
