import { readFileSync } from "node:fs";
import { DomainError } from "../../domain/errors.ts";
import { isThisMachineAlone } from "../../runtime/client-address.ts";
import { cacheableFor, contentOf, replyContent } from "../http/content.ts";
import { type RequestContext, reply } from "../http/context.ts";
import { docsPath, isBrowser } from "../http/docs.ts";
import {
  font,
  fontHeaders,
  fontPath,
  found,
  isFromPage,
  knownHosts,
  pageRoute,
  pageRoutes,
} from "../http/pages.ts";
import { replyStream } from "../stream/event-stream.ts";
import bannerFile from "./assets/category-banner.png" with { type: "file" };
import iconFile from "./assets/category-icon.png" with { type: "file" };
import profileFile from "./assets/profile-picture.png" with { type: "file" };
import type { PublicDeps, PublicListener } from "./listener.ts";

/*
 * What the public listener serves to browsers beside the portal: the default pictures, and the root with the start page
 * of `onair dev`.
 */

const paths = {
  profile: "/assets/profile-picture.png",
  icon: "/assets/category-icon.png",
  banner: "/assets/category-banner.png",
} as const;

const files = { profile: profileFile, icon: iconFile, banner: bannerFile } as const;

/** Returns the URLs of the default pictures on the server at `publicUrl`. */
export function defaultPictures(publicUrl: string): Readonly<Record<keyof typeof paths, string>> {
  const { profile, icon, banner } = paths;
  return { profile: publicUrl + profile, icon: publicUrl + icon, banner: publicUrl + banner };
}

/** Serves the default pictures from memory. */
export function assetRoutes(app: PublicListener): void {
  for (const name of ["profile", "icon", "banner"] as const) {
    const picture = contentOf(new Uint8Array(readFileSync(files[name])));
    const headers = { "content-type": "image/png", ...cacheableFor(604_800) };
    app.get(paths[name], ({ requestContext }) => replyContent(requestContext, picture, headers), {
      unlimited: true,
      parse: "none",
      detail: { hide: true },
    });
  }
}

/** Serves the font of pages without files. */
export function fontRoute(app: PublicListener): void {
  pageRoute(app, "file", fontPath, async (requestContext) =>
    replyContent(requestContext, await font(), fontHeaders),
  );
}

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

/** Whether the request comes from this machine. A tunnel also connects from here, but adds a forwarding header. */
function isHere({ request: { headers }, clientAddress }: RequestContext): boolean {
  const isForwarded = headers.has("x-forwarded-for") || headers.has("forwarded");
  return !isForwarded && isThisMachineAlone(clientAddress);
}

/**
 * The root of the public listener: the start page of `onair dev`, or the way to the documentation. The start page
 * shows secrets, so its data is available only to the page itself and under host names that cannot be rebound; secrets
 * are sent only to this machine.
 */
export function welcomeRoutes(app: PublicListener, { outcomes, welcome }: PublicDeps): void {
  if (!welcome) {
    rootRoute(app);
    return;
  }
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
