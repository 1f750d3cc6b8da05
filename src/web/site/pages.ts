import { Menu, Moon, Search, Sun } from "lucide";
import { isolated } from "../text.ts";
import type { RenderedPage, Section } from "./markdown.ts";
import { exampleAddresses, productName, type Reader } from "./names.ts";

/*
 * The HTML of the documentation, for the readers of one listener: developers of applications, or operators.
 */

/** A page of `docs/` as the README lists it. */
interface ListedPage {
  /** The name of the page in URLs: the file name without `.md`. */
  readonly name: string;
  readonly title: string;
  /** A summary of the page, as Markdown. */
  readonly about: string;
}

export interface PageGroup {
  readonly title: string;
  /** Who reads its pages. */
  readonly reader: Reader;
  readonly pages: readonly ListedPage[];
}

/** Names of the files that every page loads. */
export interface SiteParts {
  readonly style: string;
  readonly script: string;
  readonly font: string;
  readonly icon: string;
}

/** The documentation as its readers see it. */
export interface Site {
  readonly reader: Reader;
  /** All groups, also those of other readers. */
  readonly groups: readonly PageGroup[];
  readonly parts: SiteParts;
  /** The name of the platform. */
  readonly title: string;
  /** Whether the listener serves a style sheet with the platform's accent colour, and its logo. */
  readonly hasAccent: boolean;
  readonly hasLogo: boolean;
}

/** Returns the URL of a page relative to another page, because a proxy may serve the site below another path. */
export const hrefFrom = (from: string, to: string) =>
  from === "" ? (to === "" ? "docs" : `docs/${to}`) : to === "" ? "../docs" : to;

const groupsOf = ({ groups, reader }: Site) => groups.filter((group) => group.reader === reader);

/** The names of the pages of `docs/` that a listener serves. */
export const namesOf = (site: Site): readonly string[] =>
  groupsOf(site).flatMap(({ pages }) => pages.map(({ name }) => name));

/**
 * Returns the HTML of a page of `docs/`. A link to a page of other readers leads an operator to the public listener;
 * a developer is told where the page is.
 */
export function documentHtml(site: Site, name: string, page: RenderedPage): string {
  const pages = groupsOf(site).flatMap((group) => group.pages);
  const at = pages.findIndex((listed) => listed.name === name);
  const main = `<article class="prose">${branded(site, led(site, page.html))}</article>
${besideHtml(name, pages[at - 1], pages[at + 1])}`;
  return frame(site, name, page.title, main, branded(site, onPage(page.sections)));
}

/** Returns the HTML of the front page, which lists all pages. */
export function frontHtml(site: Site): string {
  const isOperator = site.reader === "operator";
  const card = (href: string, title: string, about: string) =>
    `<a class="card entry" href="${href}"><strong>${branded(site, Bun.escapeHTML(title))}</strong>
<span>${branded(site, about)}</span></a>`;
  const reference = card(
    hrefFrom("", "api"),
    isOperator ? "Admin API reference" : "API reference",
    "Every endpoint with its parameters, answers and errors; requests can be sent from the page",
  );
  const groups = groupsOf(site).map(({ title, pages }, i) => {
    const cards = pages.map((page) => card(hrefFrom("", page.name), page.title, inline(page.about)));
    return `<section class="group"><h2>${Bun.escapeHTML(title)}</h2><div class="grid">${i === 0 ? reference : ""}${cards.join("\n")}</div></section>`;
  });
  const about = isOperator
    ? `For those who run On Air. Developers of applications find their guides at
<a href="${exampleAddresses.public}/docs">${exampleAddresses.public}/docs</a>.`
    : branded(
        site,
        "On Air has a public API for developers: users, categories, tokens, and events that are sent to you.",
      );
  const main = `<div class="hero"><h1>Documentation</h1>
<p>${about}</p>
<p>For generators of clients: <a href="openapi.json">OpenAPI 3.1</a>, <a href="openapi-3.0.json">OpenAPI 3.0</a>.</p></div>
${groups.join("\n")}`;
  return frame(site, "", "Documentation", main, "");
}

/** The parts of the API reference. `main` and `aside` are HTML. */
export interface ReferenceParts {
  readonly title: string;
  readonly main: string;
  readonly aside: string;
}

/** Returns the HTML of the "not found" page. */
export function missingHtml(site: Site): string {
  const main = `<article class="prose"><h1>Page not found</h1>
<p>The address may be mistyped, or the page was renamed. See <a href="${hrefFrom("missing", "")}">all pages</a>,
or use the search.</p></article>`;
  return frame(site, "missing", "Page not found", main, "");
}

/** Returns the HTML of the API reference from its parts. */
export function referenceHtml(site: Site, { title, main, aside }: ReferenceParts): string {
  return frame(site, "api", title, branded(site, main), aside);
}

/** Returns the search index: the sections of all pages, as JSON. */
export function searchEntries(site: Site, documents: Readonly<Record<string, RenderedPage>>): string {
  const entries = namesOf(site).flatMap((name) => {
    const { title = "", sections = [] } = documents[name] ?? {};
    return sections.map((section) => ({ page: name, title, ...section }));
  });
  return JSON.stringify(entries).replaceAll(productName, JSON.stringify(isolated(site.title)).slice(1, -1));
}

/** Returns HTML in which the platform has its own name. */
function branded({ title, reader }: Site, html: string): string {
  const isOther = reader === "developer" && title !== productName;
  return isOther ? html.replaceAll(productName, () => Bun.escapeHTML(isolated(title))) : html;
}

/** Returns HTML or JSON with the real addresses in place of those in `docs/`. */
export function addressed(
  reader: Reader,
  text: string,
  real: { public: string; admin: string | null },
): string {
  const own = text.replaceAll(exampleAddresses.public, () => real.public);
  if (reader === "operator") return own.replaceAll(exampleAddresses.admin, (same) => real.admin ?? same);
  return own.replace(/https:\/\/api\.example\.com(?![\w.:-])/g, () => real.public);
}

/** What stands in place of a developer's link to a page that only the admin listener has. */
const guidesOfOperators = ' <small class="elsewhere">guide for operators</small>';

/** Adapts links to pages of other readers. All pages of `docs/` are in one folder. */
function led(site: Site, html: string): string {
  const own = new Set(namesOf(site));
  return html.replace(/<a href="([a-z0-9-]+)(#[^"]*)?">(.*?)<\/a>/gs, (link, name, anchor = "", text) => {
    if (own.has(name)) return link;
    if (site.reader === "operator")
      return `<a href="${exampleAddresses.public}/docs/${name}${anchor}">${text}</a>`;
    return name === "api" ? link : text + guidesOfOperators;
  });
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

/** @param name the page; "" for the front page */
function frame(site: Site, name: string, title: string, main: string, aside: string): string {
  const { parts, hasAccent, hasLogo, reader } = site;
  const href = (to: string) => hrefFrom(name, to);
  const file = (part: keyof SiteParts) => href(`files/${parts[part]}`);
  const link = (to: string, text: string) =>
    `<a href="${href(to)}"${to === name ? ' aria-current="page"' : ""}>${text}</a>`;
  const reference = reader === "operator" ? "Admin API reference" : "API reference";
  const nav = groupsOf(site).map(({ title, pages }, i) => {
    const links = pages.map((page) => link(page.name, branded(site, Bun.escapeHTML(page.title))));
    if (i === 0) links.push(link("api", reference));
    return `<div><h2>${Bun.escapeHTML(title)}</h2>${links.join("")}</div>`;
  });
  if (reader === "operator")
    nav.push(
      `<div><h2>Elsewhere</h2><a href="${exampleAddresses.public}/docs">For developers of applications</a></div>`,
    );
  const brand = Bun.escapeHTML(site.title);
  const logo = hasLogo
    ? `<img src="${href("logo")}" alt="">`
    : '<svg class="lamp" viewBox="0 0 32 32" aria-hidden="true"><circle cx="16" cy="16" r="14" fill="#c81e4a"/><circle cx="16" cy="16" r="5" fill="#fff"/></svg>';
  return `<!doctype html>
<html lang="en" data-docs="${href("")}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${branded(site, Bun.escapeHTML(title))} · ${Bun.escapeHTML(isolated(site.title))}</title>
<link rel="icon" href="${file("icon")}">
<link rel="preload" href="${file("font")}" as="font" type="font/woff2" crossorigin>
<link rel="stylesheet" href="${file("style")}">
${hasAccent ? `<link rel="stylesheet" href="${href("theme.css")}">\n` : ""}<script src="${file("script")}"></script>
</head>
<body>
<div class="shell">
<a class="skip" href="#main">Skip to content</a>
<aside class="side" aria-label="All pages">
<a class="brand" href="${href("")}">${logo}<span><bdi>${brand}</bdi> <small>docs</small></span></a>
<nav class="nav" aria-label="Pages">${nav.join("\n")}</nav>
</aside>
<div class="page">
<header class="top">
<span class="menu-button"><button type="button" id="menu" class="button quiet icon-only" aria-label="Menu" aria-expanded="false">${svg(Menu)}</button></span>
<button type="button" id="find" class="find" hidden>${svg(Search)}<span>Search…</span><kbd>Ctrl K</kbd></button>
<span class="grow"></span>
<a class="button quiet" href="${href("api")}">${reference}</a>
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
