/** A page of `docs/` as the README lists it. */
export interface ListedPage {
  /** Its name in URLs: the file name without `.md`. */
  readonly name: string;
  readonly title: string;
  /** A summary of the page, as Markdown. */
  readonly about: string;
}

export interface PageGroup {
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
