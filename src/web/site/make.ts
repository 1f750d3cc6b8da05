import { readFileSync } from "node:fs";
import { basename, extname, join } from "node:path";
import { Menu, Moon, Search, Sun } from "lucide";
import { sharedFiles } from "../make.ts";
import { type RenderedPage, rendered, type Section } from "./markdown.ts";

/** A page of `docs/` as the README lists it. */
interface ListedPage {
  /** The name of the page in URLs: the file name without `.md`. */
  readonly name: string;
  readonly title: string;
  /** A summary of the page, as Markdown. */
  readonly about: string;
}

interface PageGroup {
  readonly title: string;
  readonly pages: readonly ListedPage[];
}

/** Parses the groups of pages below "More" in the README, which define the contents and the order of the site. */
export function contentsOf(readme: string): PageGroup[] {
  const [, more = ""] = readme.split(/^## More$/m);
  return more
    .split(/^### /m)
    .slice(1)
    .map((part) => {
      const title = part.slice(0, part.indexOf("\n"));
      const pages = [...part.matchAll(/^- \[(.+?)\]\(docs\/([a-z0-9-]+)\.md\): (.+)$/gm)];
      return {
        title,
        pages: pages.map(([, title = "", name = "", about = ""]) => ({ name, title, about })),
      };
    });
}

/** Names of the files that every page loads. */
interface SiteParts {
  readonly style: string;
  readonly script: string;
  readonly font: string;
  readonly icon: string;
  readonly search: string;
}

interface PageOptions {
  /** The name of the page; "" for the front page. */
  readonly name: string;
  readonly groups: readonly PageGroup[];
  readonly parts: SiteParts;
}

/** Returns the URL of a page relative to another page, because a proxy may serve the site below another path. */
const hrefFrom = (from: string, to: string) =>
  from === "" ? (to === "" ? "docs" : `docs/${to}`) : to === "" ? "../docs" : to;

/** The HTML of a page of `docs/`. */
function pageHtml(options: PageOptions, { title, html, sections }: RenderedPage): string {
  const pages = options.groups.flatMap((group) => group.pages);
  const at = pages.findIndex(({ name }) => name === options.name);
  const main = `<article class="prose">${html}</article>
${besideHtml(options.name, pages[at - 1], pages[at + 1])}`;
  return frame(options, `${title} · On Air`, main, onPage(sections));
}

/** The HTML of the front page, which lists all pages. */
function frontHtml(options: PageOptions): string {
  const reference = `<a class="card entry" href="docs/api"><strong>API reference</strong>
<span>Every endpoint with its parameters, answers and errors; requests can be sent from the page</span></a>`;
  const groups = options.groups.map(({ title, pages }, i) => {
    const cards = pages.map(
      (
        page,
      ) => `<a class="card entry" href="${hrefFrom("", page.name)}"><strong>${Bun.escapeHTML(page.title)}</strong>
<span>${inline(page.about)}</span></a>`,
    );
    return `<section class="group"><h2>${Bun.escapeHTML(title)}</h2><div class="grid">${i === 0 ? reference : ""}${cards.join("\n")}</div></section>`;
  });
  const main = `<div class="hero"><h1>Documentation</h1>
<p>On Air is the public developer API of a streaming platform: users, categories, tokens, and delivered events.</p>
<p>For generators of clients: <a href="openapi.json">OpenAPI 3.1</a>, <a href="openapi-3.0.json">OpenAPI 3.0</a>.</p></div>
${groups.join("\n")}`;
  return frame(options, "Documentation · On Air", main, "");
}

/** The HTML of the "not found" page. */
function missingHtml(options: PageOptions): string {
  const main = `<article class="prose"><h1>Page not found</h1>
<p>The address may be mistyped, or the page was renamed. See <a href="${hrefFrom(options.name, "")}">all pages</a>,
or use the search.</p></article>`;
  return frame(options, "Page not found · On Air", main, "");
}

/** Renders one line of Markdown with a capital letter, without a paragraph around it. */
const inline = (markdown: string) =>
  Bun.markdown
    .html((markdown[0]?.toUpperCase() ?? "") + markdown.slice(1))
    .trim()
    .replace(/^<p>|<\/p>$/g, "");

function onPage(sections: readonly Section[]): string {
  const items = sections.filter(({ anchor }) => anchor !== "");
  if (items.length < 2) return "";
  const links = items.map(({ heading, anchor }) => `<a href="#${anchor}">${Bun.escapeHTML(heading)}</a>`);
  return `<nav class="contents" aria-label="On this page"><strong>On this page</strong>${links.join("")}</nav>`;
}

function besideHtml(from: string, before: ListedPage | undefined, after: ListedPage | undefined): string {
  const link = (page: ListedPage | undefined, way: string) =>
    page
      ? `<a class="card entry" href="${hrefFrom(from, page.name)}"><span>${way}</span><strong>${Bun.escapeHTML(page.title)}</strong></a>`
      : "<span></span>";
  return `<nav class="beside" aria-label="Previous and next page">${link(before, "Previous")}${link(after, "Next")}</nav>`;
}

function frame({ name, groups, parts }: PageOptions, title: string, main: string, aside: string): string {
  const href = (to: string) => hrefFrom(name, to);
  const file = (part: keyof SiteParts) => href(`files/${parts[part]}`);
  const nav = groups.map(({ title, pages }, i) => {
    const all = i === 0 ? [...pages, { name: "api", title: "API reference" }] : pages;
    const links = all.map(
      (page) =>
        `<a href="${href(page.name)}"${page.name === name ? ' aria-current="page"' : ""}>${Bun.escapeHTML(page.title)}</a>`,
    );
    return `<div><h2>${Bun.escapeHTML(title)}</h2>${links.join("")}</div>`;
  });
  return `<!doctype html>
<html lang="en" data-docs="${href("")}" data-search="${file("search")}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${Bun.escapeHTML(title)}</title>
<link rel="icon" href="${file("icon")}">
<link rel="preload" href="${file("font")}" as="font" type="font/woff2" crossorigin>
<link rel="stylesheet" href="${file("style")}">
<script src="${file("script")}"></script>
</head>
<body>
<div class="shell">
<a class="skip" href="#main">Skip to content</a>
<aside class="side" aria-label="All pages">
<a class="brand" href="${href("")}"><svg class="lamp" viewBox="0 0 32 32" aria-hidden="true"><circle cx="16" cy="16" r="14" fill="#c81e4a"/><circle cx="16" cy="16" r="5" fill="#fff"/></svg><span>On Air <small>docs</small></span></a>
<nav class="nav" aria-label="Pages">${nav.join("\n")}</nav>
</aside>
<div class="page">
<header class="top">
<span class="menu-button"><button type="button" id="menu" class="button quiet icon-only" aria-label="Menu" aria-expanded="false">${svg(Menu)}</button></span>
<button type="button" id="find" class="find" hidden>${svg(Search)}<span>Search…</span><kbd>Ctrl K</kbd></button>
<span class="grow"></span>
<a class="button quiet" href="${href("api")}">API reference</a>
<button type="button" id="theme" class="button quiet icon-only" hidden><span class="to-dark">${svg(Moon)}</span><span class="to-light">${svg(Sun)}</span></button>
</header>
<div class="reading"><main id="main" tabindex="-1">${main}</main>${aside}</div>
</div>
</div>
</body>
</html>
`;
}

type IconNode = typeof Menu;

const svg = (icon: IconNode) =>
  `<svg class="icon" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">${icon
    .map(
      ([tag, attributes]) =>
        `<${tag} ${Object.entries(attributes)
          .map(([name, value]) => `${name}="${value}"`)
          .join(" ")}/>`,
    )
    .join("")}</svg>`;

/** The documentation as it is served. */
export interface SiteFiles {
  /** Files by name. Each name contains the hash of the content. */
  readonly files: Readonly<Record<string, Uint8Array<ArrayBuffer>>>;
  /** The file of each page by the page's name; "" is the front page. */
  readonly pages: Readonly<Record<string, string>>;
  /** The file of the "not found" page. */
  readonly missing: string;
}

const root = join(import.meta.dir, "../../..");
const consoleFolder = join(root, "src/web");

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

/** The pages that the README lists, followed by the pages that the README does not list. */
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
