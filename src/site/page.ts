import { Menu, Moon, Search, Sun } from "lucide";
import type { ListedPage, PageGroup } from "./contents.ts";
import type { RenderedPage, Section } from "./markdown.ts";

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

/** The URL of a page relative to another one: a proxy may serve the site below another path. */
export const hrefFrom = (from: string, to: string) =>
  from === "" ? (to === "" ? "docs" : `docs/${to}`) : to === "" ? "../docs" : to;

/** The HTML of a page of `docs/`. */
export function pageHtml(options: PageOptions, { title, html, sections }: RenderedPage): string {
  const pages = options.groups.flatMap((group) => group.pages);
  const at = pages.findIndex(({ name }) => name === options.name);
  const main = `<article class="prose">${html}</article>
${besideHtml(options.name, pages[at - 1], pages[at + 1])}`;
  return frame(options, `${title} · On Air`, main, onPage(sections));
}

/** The HTML of the front page, which lists all pages. */
export function frontHtml(options: PageOptions): string {
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
<p>On Air is the public developer API of a streaming platform: users, categories, tokens, and delivered events.</p></div>
${groups.join("\n")}`;
  return frame(options, "Documentation · On Air", main, "");
}

/** The HTML of the "not found" page. */
export function missingHtml(options: PageOptions): string {
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
