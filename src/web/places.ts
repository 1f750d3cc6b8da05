import { useEffect } from "preact/hooks";
import { useLocation } from "preact-iso";
import { base, nonEmpty } from "./client.ts";
import { isolated } from "./text.ts";

/*
 * URLs of pages. Filters are in the query, so that a copied URL shows the same page.
 */

/** The common title of the pages. */
export const siteTitle = document.documentElement.dataset["title"] ?? "On Air";

/** The URL of the documentation. */
export const docs = base.replace(/[^/]*$/, "docs");

/** Sets the document's title, which identifies the page in the history, in tabs and for screen readers. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${isolated(title)} · ${isolated(siteTitle)}`;
  }, [title]);
}

type Query = Readonly<Record<string, string | null | undefined>>;

/** Returns the URL of a page: `to("/deliveries", { status: "failed" })`. */
export const to = (path: string, query: Query = {}): string => withQuery(base + path, query);

function withQuery(path: string, query: Query): string {
  const text = new URLSearchParams(nonEmpty(query) as Record<string, string>).toString();
  return path + (text && `?${text}`);
}

/** Returns the query of the page's URL, and functions to change parts of it and to clear it. */
export function useQuery(): readonly [
  query: Readonly<Record<string, string>>,
  change: (some: Query) => void,
  clear: () => void,
] {
  const { query, path, route } = useLocation();
  return [query, (some) => route(withQuery(path, { ...query, ...some }), true), () => route(path, true)];
}
