import { readFileSync } from "node:fs";
import { basename, extname, join } from "node:path";
import { sharedFiles, styleSheet } from "../make.ts";
import { type RenderedPage, rendered } from "./markdown.ts";
import type { Reader } from "./names.ts";
import { hrefFrom, type PageGroup, type SiteParts } from "./pages.ts";

/** Whose pages each group of the README has: of the public listener, or of the admin listener. */
const readers: Readonly<Record<string, Reader>> = {
  Start: "developer",
  Build: "developer",
  Run: "operator",
  Understand: "operator",
};

/**
 * Parses the groups of pages below "More" in the README, which define the contents and the order of the site, and who
 * reads each page. Throws when a group has no reader.
 */
export function contentsOf(readme: string): PageGroup[] {
  const [, more = ""] = readme.split(/^## More$/m);
  return more
    .split(/^### /m)
    .slice(1)
    .map((part) => {
      const title = part.slice(0, part.indexOf("\n"));
      const reader = readers[title];
      if (reader === undefined) throw new Error(`The group "${title}" of the README has no reader`);
      const pages = [...part.matchAll(/^- \[(.+?)\]\(docs\/([a-z0-9-]+)\.md\): (.+)$/gm)];
      return {
        title,
        reader,
        pages: pages.map(([, title = "", name = "", about = ""]) => ({ name, title, about })),
      };
    });
}

/** The documentation: what the pages are made of. `pages.ts` makes them for a listener. */
export interface SiteFiles {
  /** Files by name. Each name contains the hash of the content. */
  readonly files: Readonly<Record<string, Uint8Array<ArrayBuffer>>>;
  readonly parts: SiteParts;
  readonly groups: readonly PageGroup[];
  /** The pages of `docs/` by name. */
  readonly documents: Readonly<Record<string, RenderedPage>>;
}

const root = join(import.meta.dir, "../../..");
const pagesFolder = join(root, "src/web");

/**
 * Renders the pages of `docs/`, in the order of the README. Font and icon are files of the console's bundle. Throws
 * when a page, its place in the README or the target of a link is missing.
 */
export async function makeSite(): Promise<SiteFiles> {
  const files: Record<string, Uint8Array<ArrayBuffer>> = {};
  const keep = (file: string, content: string | Uint8Array) => {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : new Uint8Array(content);
    const extension = extname(file);
    const name = `${basename(file, extension)}-${Bun.hash(bytes).toString(36)}${extension || ".txt"}`;
    files[name] = bytes;
    return name;
  };
  const groups = contentsOf(await Bun.file(join(root, "README.md")).text());
  const names = groups.flatMap(({ pages }) => pages.map(({ name }) => name));
  for (const file of new Bun.Glob("*.md").scanSync(join(root, "docs")))
    if (!names.includes(basename(file, ".md"))) throw new Error(`The README does not list docs/${file}`);
  const known = new Set(["api", ...names]);
  const documents: Record<string, RenderedPage> = {};
  for (const name of names) {
    const text = await Bun.file(join(root, `docs/${name}.md`)).text();
    documents[name] = rendered(text, (path) => {
      const [, page] = /^docs\/([a-z0-9-]+)\.md$/.exec(path) ?? [];
      if (page === undefined) return hrefFrom(name, `files/${keep(path, readFileSync(join(root, path)))}`);
      if (!known.has(page)) throw new Error(`docs/${name}.md links to ${path}, which the site does not have`);
      return hrefFrom(name, page);
    });
  }
  const { font, icon } = await sharedFiles();
  const parts = { ...(await bundled(keep, font.name)), font: font.name, icon: icon.name };
  return { files, parts, groups, documents };
}

/** Bundles the script and the style sheet. */
async function bundled(keep: (file: string, content: string) => string, font: string) {
  const entrypoints = [join(pagesFolder, "docs.tsx")];
  const options = { root: pagesFolder, target: "browser", minify: true, format: "iife" } as const;
  const { outputs } = await Bun.build({ ...options, entrypoints });
  return {
    script: keep("docs.js", (await outputs[0]?.text()) ?? ""),
    style: keep("docs.css", await styleSheet("docs.css", font)),
  };
}
