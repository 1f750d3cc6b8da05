import { readFileSync } from "node:fs";
import { basename, extname, join } from "node:path";
import { sharedFiles } from "../console/make.ts";
import { contentsOf, type PageGroup } from "./contents.ts";
import { rendered } from "./markdown.ts";
import { frontHtml, hrefFrom, missingHtml, pageHtml } from "./page.ts";

/** The documentation as it is served. */
export interface SiteFiles {
  /** Files by name. Each name contains the hash of the content. */
  readonly files: Readonly<Record<string, Uint8Array<ArrayBuffer>>>;
  /** The file of each page by the page's name; "" is the front page. */
  readonly pages: Readonly<Record<string, string>>;
  /** The file of the "not found" page. */
  readonly missing: string;
}

const root = join(import.meta.dir, "../..");
const consoleFolder = join(root, "src/console");

/**
 * Renders the pages of `docs/`, in the order of the README. Font and icon are files of the console's bundle. Throws
 * when a page or the target of a link is missing.
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
  const groups = await allGroups();
  const listed = groups.flatMap(({ pages }) => pages);
  const names = new Set(["api", ...listed.map(({ name }) => name)]);
  const sources = await Promise.all(
    listed.map(async ({ name }) => ({ name, text: await Bun.file(join(root, `docs/${name}.md`)).text() })),
  );
  const documents = sources.map(({ name, text }) => {
    const page = rendered(text, (path) => {
      const [, page] = /^docs\/([a-z0-9-]+)\.md$/.exec(path) ?? [];
      if (page === undefined) return hrefFrom(name, `files/${keep(path, readFileSync(join(root, path)))}`);
      if (!names.has(page)) throw new Error(`docs/${name}.md links to ${path}, which the site does not have`);
      return hrefFrom(name, page);
    });
    return { name, page };
  });
  const entries = documents.flatMap(({ name, page: { title, sections } }) =>
    sections.map((section) => ({ page: name, title, ...section })),
  );
  const { font, icon } = await sharedFiles();
  const parts = {
    ...(await bundled(keep, font.name)),
    font: font.name,
    icon: icon.name,
    search: keep("search.json", JSON.stringify(entries)),
  };
  const pages: Record<string, string> = { "": keep("front.html", frontHtml({ name: "", groups, parts })) };
  for (const { name, page } of documents) {
    pages[name] = keep(`${name}.html`, pageHtml({ name, groups, parts }, page));
  }
  const missing = keep("missing.html", missingHtml({ name: "missing", groups, parts }));
  return { files, pages, missing };
}

/** The pages that the README lists, followed by those that it does not. */
async function allGroups(): Promise<PageGroup[]> {
  const groups = contentsOf(await Bun.file(join(root, "README.md")).text());
  const listed = new Set(groups.flatMap(({ pages }) => pages.map(({ name }) => name)));
  const names = [...new Bun.Glob("*.md").scanSync(join(root, "docs"))].map((file) => basename(file, ".md"));
  const rest = names.filter((name) => !listed.has(name)).sort();
  if (rest.length === 0) return groups;
  return [...groups, { title: "More", pages: rest.map((name) => ({ name, title: name, about: "" })) }];
}

/** Bundles the script and the style sheet. */
async function bundled(keep: (file: string, content: string) => string, font: string) {
  const options = { root: consoleFolder, target: "browser", minify: true } as const;
  const entry = (file: string) => ({ ...options, entrypoints: [join(consoleFolder, file)] });
  const script = await Bun.build({ ...entry("docs.tsx"), format: "iife" });
  const style = await Bun.build({ ...entry("style/docs.css"), external: ["inter.woff2"] });
  const text = async ({ outputs }: Bun.BuildOutput) => (await outputs[0]?.text()) ?? "";
  return {
    script: keep("docs.js", await text(script)),
    style: keep("docs.css", (await text(style)).replaceAll("inter.woff2", font)),
  };
}
