import { useEffect, useState } from "preact/hooks";
import { Palette } from "../parts/palette.tsx";
import { type Entry, find, operationsOf } from "./search.ts";

interface SearchProps {
  /** The URL of the front page, without a trailing slash. */
  readonly docs: string;
  /** The URL of the search index. */
  readonly index: string;
  readonly onClose: () => void;
}

/** The search of the documentation. */
export function SearchDialog({ docs, index, onClose }: SearchProps) {
  const [entries, setEntries] = useState<readonly Entry[] | null>(null);
  const [isLost, setLost] = useState(false);
  useEffect(() => {
    entriesOf(docs, index).then(setEntries, () => setLost(true));
  }, []);
  const nothing = (text: string) => {
    if (isLost) return "The server cannot be reached.";
    if (text === "") return "Search pages, sections and endpoints.";
    return entries ? "No results." : "";
  };
  return (
    <Palette
      label="Search the documentation"
      placeholder="A word, an endpoint, a setting…"
      known={(text) =>
        find(entries ?? [], text).map(({ page, title, heading, anchor, excerpt }) => ({
          text: heading,
          about: excerpt,
          kind: title,
          href: `${docs}/${page}${anchor && `#${anchor}`}`,
        }))
      }
      nothing={nothing}
      go={(href) => location.assign(href)}
      onClose={onClose}
    />
  );
}

async function entriesOf(docs: string, index: string): Promise<readonly Entry[]> {
  const [pages, api] = await Promise.all([read(index), read(`${docs}/../openapi.json`)]);
  return [...(pages as Entry[]), ...operationsOf(api as Parameters<typeof operationsOf>[0])];
}

async function read(url: string): Promise<unknown> {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url} was answered with ${answer.status}`);
  return answer.json();
}
