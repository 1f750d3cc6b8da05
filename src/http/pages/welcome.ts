import type { WelcomeSource } from "../../console/session.ts";
import { DomainError } from "../../domain/errors.ts";
import { isThisMachineAlone } from "../../serving/client-address.ts";
import { knownHosts } from "../admin/hosts.ts";
import type { PublicDeps, PublicListener } from "../public/base.ts";
import type { RequestContext } from "../request-context.ts";
import { replyStream } from "../stream/reply-stream.ts";
import { isFromPage } from "./cookie.ts";
import { pageRoutes } from "./files.ts";

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
