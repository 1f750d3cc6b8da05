import { basename, extname, join } from "node:path";
import { sharedFiles } from "../console/make.ts";
import { contentsOf } from "./contents.ts";
import { rendered } from "./markdown.ts";
import { frontHtml, hrefFrom, pageHtml } from "./page.ts";

/** The documentation as a browser gets it. */
export interface SiteFiles {
  /** Files by name. Each name holds the hash of the content. */
  readonly files: Readonly<Record<string, Uint8Array<ArrayBuffer>>>;
  /** The file of each page by the page's name; "" is the front. */
  readonly pages: Readonly<Record<string, string>>;
}

const root = join(import.meta.dir, "../..");
const consoleRoom = join(root, "src/console");

/**
 * Renders the pages that the README lists. Their font and icon are those of the other pages, which have the files.
 * Throws when a page, or what it links to, is not there.
 */
export async function makeSite(): Promise<SiteFiles> {
  const files: Record<string, Uint8Array<ArrayBuffer>> = {};
  const keep = (file: string, content: string | Uint8Array<ArrayBuffer>) => {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    const extension = extname(file);
    const name = `${basename(file, extension)}-${Bun.hash(bytes).toString(36)}${extension || ".txt"}`;
    files[name] = bytes;
    return name;
  };
  const groups = contentsOf(await Bun.file(join(root, "README.md")).text());
  const listed = groups.flatMap(({ pages }) => pages);
  const names = new Set(["api", ...listed.map(({ name }) => name)]);
  const linked = new Map<string, string>();
  const sources = await Promise.all(
    listed.map(async ({ name }) => ({ name, text: await Bun.file(join(root, `docs/${name}.md`)).text() })),
  );
  for (const { text } of sources) {
    for (const [, path = ""] of text.matchAll(/\]\(((?:proxies|\.\.\/ops)\/[^)#\s]+)\)/g)) {
      const file = join(root, "docs", path);
      linked.set(file, keep(file, await Bun.file(file).bytes()));
    }
  }
  const documents = sources.map(({ name, text }) => {
    const page = rendered(text, (path) => {
      const [, page] = /^docs\/([a-z0-9-]+)\.md$/.exec(path) ?? [];
      if (page !== undefined && names.has(page)) return hrefFrom(name, page);
      const file = linked.get(join(root, path));
      if (file === undefined)
        throw new Error(`docs/${name}.md links to ${path}, which the site does not have`);
      return hrefFrom(name, `files/${file}`);
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
  return { files, pages };
}

/** The script and the style sheet. */
async function bundled(keep: (file: string, content: string) => string, font: string) {
  const options = { root: consoleRoom, target: "browser", minify: true } as const;
  const entry = (file: string) => ({ ...options, entrypoints: [join(consoleRoom, file)] });
  const script = await Bun.build({ ...entry("docs.ts"), format: "iife" });
  const style = await Bun.build({ ...entry("style/docs.css"), external: ["inter.woff2"] });
  const text = async ({ outputs }: Bun.BuildOutput) => (await outputs[0]?.text()) ?? "";
  return {
    script: keep("docs.js", await text(script)),
    style: keep("docs.css", (await text(style)).replaceAll("inter.woff2", font)),
  };
}
