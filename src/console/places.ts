import { useEffect } from "preact/hooks";
import { useLocation } from "preact-iso";
import { base } from "./client.ts";

/*
 * Addresses of pages. Filters are in the query, so that an address shows the same to a colleague.
 */

/** What the pages are called together. */
export const siteTitle = document.documentElement.dataset["title"] ?? "On Air";

/** Sets the title of the window, by which a page is known in history, tabs and to screen readers. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · ${siteTitle}`;
  }, [title]);
}

type Query = Readonly<Record<string, string | null | undefined>>;

/** The address of a page, like `to("/deliveries", { status: "failed" })`. */
export const to = (path: string, query: Query = {}): string => withQuery(base + path, query);

function withQuery(path: string, query: Query): string {
  const given = Object.entries(query).filter((pair): pair is [string, string] => Boolean(pair[1]));
  const text = new URLSearchParams(given).toString();
  return path + (text && `?${text}`);
}

/** The query of the page's address, and functions that change some of it, and that empty it. */
export function useQuery(): readonly [
  query: Readonly<Record<string, string>>,
  change: (some: Query) => void,
  clear: () => void,
] {
  const { query, path, route } = useLocation();
  return [query, (some) => route(withQuery(path, { ...query, ...some }), true), () => route(path, true)];
}
