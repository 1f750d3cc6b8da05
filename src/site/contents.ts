/** A page of `docs/` as the README lists it. */
export interface ListedPage {
  /** Its name in URLs: that of the file, without `.md`. */
  readonly name: string;
  readonly title: string;
  /** What it tells, as Markdown. */
  readonly about: string;
}

export interface PageGroup {
  readonly title: string;
  readonly pages: readonly ListedPage[];
}

/** The groups of pages below "More" of the README: the one list of what the site has, and in which order. */
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
