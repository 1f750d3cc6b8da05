import { readFileSync } from "node:fs";
import { cacheableFor, contentOf, replyContent } from "../http/content.ts";
import { font, fontHeaders, fontPath, pageRoute } from "../http/pages.ts";
import bannerFile from "./assets/category-banner.png" with { type: "file" };
import iconFile from "./assets/category-icon.png" with { type: "file" };
import profileFile from "./assets/profile-picture.png" with { type: "file" };
import type { PublicListener } from "./listener.ts";

/*
 * What the public listener serves to browsers beside the portal: the default pictures and the font.
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
