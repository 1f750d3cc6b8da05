import { readFileSync } from "node:fs";
import type { AnyElysia } from "elysia";
import { DomainError } from "../../domain/errors.ts";
import { isThisMachineAlone } from "../../runtime/client-address.ts";
import { cacheableFor, cachedLast, contentOf, replyCompressed, replyContent } from "../http/content.ts";
import { type RequestContext, reply } from "../http/context.ts";
import {
  contentsOf,
  font,
  fontHeaders,
  fontPath,
  found,
  isFromPage,
  knownHosts,
  pageFiles,
  pageHeaders,
  pageRoute,
  pageRoutes,
  replyFile,
} from "../http/pages.ts";
import { replyStream } from "../stream/event-stream.ts";
import bannerFile from "./assets/category-banner.png" with { type: "file" };
import iconFile from "./assets/category-icon.png" with { type: "file" };
import profileFile from "./assets/profile-picture.png" with { type: "file" };
import type { PublicDeps, PublicListener } from "./listener.ts";

/*
 * What the public listener serves to browsers beside the portal: the default pictures, the documentation, and the start
 * page of `onair dev`.
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

const docsPath = "/docs";

/** The documentation, loaded when it is first asked for. */
const site = cachedLast(async () => {
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
export function welcomeRoutes(app: PublicListener, { outcomes, welcome }: PublicDeps): void {
  if (!welcome) return;
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
