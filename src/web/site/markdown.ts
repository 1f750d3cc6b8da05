import { posix } from "node:path";

/** A part of a page from one heading to the next, for the search. */
export interface Section {
  readonly heading: string;
  readonly anchor: string;
  readonly text: string;
}

export interface RenderedPage {
  readonly title: string;
  readonly html: string;
  readonly sections: readonly Section[];
}

/** The anchor that GitHub gives a heading. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");

/**
 * Renders a page of `docs/` as HTML, with the anchors that GitHub gives its headings.
 * @param linkTo returns the URL of a file by its path in the repository; throws when there is none
 */
export function rendered(markdown: string, linkTo: (path: string) => string): RenderedPage {
  const anchors = new Map<string, number>();
  const headings: { heading: string; anchor: string; level: number; at: number }[] = [];
  // Without HTML, Bun does not make links of `<https://…>`.
  const plain = Bun.markdown
    .html(markdown, { noHtmlBlocks: true, noHtmlSpans: true })
    .replace(
      /(<code[\s>].*?<\/code>)|&lt;(https?:\/\/[^\s<&]+)&gt;/gs,
      (_, code?: string, url?: string) => code ?? `<a href="${url}">${url}</a>`,
    );
  const html = plain
    .replace(/<h([1-6])>(.*?)<\/h\1>/gs, (_, level: string, inner: string, at: number) => {
      const heading = textOf(inner);
      const slug = anchorOf(heading);
      const before = anchors.get(slug) ?? 0;
      anchors.set(slug, before + 1);
      const anchor = before === 0 ? slug : `${slug}-${before}`;
      headings.push({ heading, anchor, level: Number(level), at });
      if (level === "1") return `<h1 id="${anchor}">${inner}</h1>`;
      return `<h${level} id="${anchor}"><a href="#${anchor}">${inner}</a></h${level}>`;
    })
    .replace(
      /(<(?:a href|img src)=")([^"]*)"/g,
      (_, start: string, target: string) => `${start}${led(target, linkTo)}"`,
    )

    .replaceAll(
      "<code>/docs/api</code>",
      () => `<a href="${linkTo("docs/api.md")}"><code>/docs/api</code></a>`,
    )
    .replace(
      /<pre><code(?: class="language-[^"]*")?>(.*?)<\/code><\/pre>/gs,
      '<div class="code"><div role="group" tabindex="0" aria-label="Code"><pre>$1</pre></div></div>',
    )
    // An empty cell is not a heading for screen readers.
    .replace(/<th(?: align="\w+")?><\/th>/g, "<td></td>")
    .replace(/<table>.*?<\/table>/gs, labelled);
  const sections = headings.map(({ heading, anchor, level, at }, i) => ({
    heading,
    anchor: level === 1 ? "" : anchor,
    text: textOf(plain.slice(at, headings[i + 1]?.at).replace(/^<h\d>.*?<\/h\d>/s, "")),
  }));
  return { title: headings[0]?.heading ?? "", html, sections };
}

/**
 * Labels the cells of tables with more than two columns: on a phone, the cells of a row are shown below one another.
 */
function labelled(table: string): string {
  const names = [...(/<thead>.*?<\/thead>/s.exec(table)?.[0] ?? "").matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/gs)];
  const rows = table.replace(/<tr>.*?<\/tr>/gs, (row) => {
    let column = 0;
    return row.replace(/<td/g, () => {
      const name = textOf(names[column++]?.[1] ?? "");
      return names.length > 2 && column > 1 && name ? `<td data-name="${Bun.escapeHTML(name)}"` : "<td";
    });
  });
  return `<div class="scroll" role="group" tabindex="0" aria-label="Table">${rows}</div>`;
}

function led(target: string, linkTo: (path: string) => string): string {
  if (/^[a-z]+:|^#/.test(target)) return target;
  const [path = "", anchor] = target.split("#");
  return linkTo(posix.join("docs", path)) + (anchor === undefined ? "" : `#${anchor}`);
}

const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', amp: "&" };

/** The text content of rendered Markdown. */
function textOf(html: string): string {
  return html
    .replace(/<\/(?:td|th|li|p|h\d|pre)>/g, " ")
    .replace(/<[^>]*>/g, "")
    .replace(/&(lt|gt|quot|amp);/g, (_, name: string) => entities[name] ?? "")
    .replace(/\s+/g, " ")
    .trim();
}
