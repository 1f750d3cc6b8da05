import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type Entry, find, operationsOf } from "./docs/search.ts";
import { requestButtons } from "./docs/try.tsx";
import { Palette } from "./parts/overlays.tsx";
import { applyTheme, changeTheme, onSystemTheme, otherTheme } from "./theme.ts";

/*
 * The script of the documentation's pages: theme, menu, copying and search. The script runs before the page is painted,
 * so that the page starts in the chosen theme.
 */

const html = document.documentElement;
applyTheme();
html.classList.add("scripted");

function themeButton(button: HTMLElement): void {
  const name = () => button.setAttribute("aria-label", `Use ${otherTheme()} colours`);
  name();
  button.hidden = false;
  button.addEventListener("click", () => {
    changeTheme();
    name();
  });
  onSystemTheme(() => {
    applyTheme();
    name();
  });
}

function menuButton(button: HTMLElement, side: HTMLElement): void {
  const open = (isOpen: boolean) => {
    side.classList.toggle("open", isOpen);
    button.setAttribute("aria-expanded", String(isOpen));
  };
  button.addEventListener("click", () => open(!side.classList.contains("open")));
  addEventListener("keydown", ({ key }) => key === "Escape" && open(false));
  document.querySelector(".page")?.addEventListener("click", ({ target }) => {
    if (!button.contains(target as Node)) open(false);
  });
}

function copyButton(code: HTMLElement): void {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "button small take";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(code.textContent.trimEnd());
      button.textContent = "Copied";
    } catch {
      getSelection()?.selectAllChildren(code);
      button.textContent = "Selected";
    }
    setTimeout(() => {
      button.textContent = "Copy";
    }, 2_000);
  });
  code.parentElement?.append(button);
}

/** Returns a function that opens the search. @param docs the URL of the front page, without a trailing slash */
function searchOpener(docs: string): () => void {
  const place = document.body.appendChild(document.createElement("div"));
  const close = () => render(null, place);
  return () => render(<SearchDialog docs={docs} onClose={close} />, place);
}

interface SearchProps {
  /** The URL of the front page, without a trailing slash. */
  readonly docs: string;
  readonly onClose: () => void;
}

/** The search of the documentation. */
function SearchDialog({ docs, onClose }: SearchProps) {
  const [entries, setEntries] = useState<readonly Entry[] | null>(null);
  const [isLost, setLost] = useState(false);
  useEffect(() => {
    entriesOf(docs).then(setEntries, () => setLost(true));
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

async function entriesOf(docs: string): Promise<readonly Entry[]> {
  const [pages, api] = await Promise.all([read(`${docs}/search.json`), read(`${docs}/../openapi.json`)]);
  return [...(pages as Entry[]), ...operationsOf(api as Parameters<typeof operationsOf>[0])];
}

async function read(url: string): Promise<unknown> {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url} was answered with ${answer.status}`);
  return answer.json();
}

addEventListener("DOMContentLoaded", () => {
  const byId = (id: string) => document.getElementById(id) as HTMLElement;
  themeButton(byId("theme"));
  menuButton(byId("menu"), document.querySelector(".side") as HTMLElement);
  document.querySelectorAll<HTMLElement>(".code > div").forEach(copyButton);
  const docs = new URL(html.dataset["docs"] ?? "", location.href).href;
  requestButtons(docs);
  const search = searchOpener(docs);
  byId("find").hidden = false;
  byId("find").addEventListener("click", search);
  addEventListener("keydown", (event) => {
    const isTyping = (event.target as Element).matches?.("input, textarea, select");
    const isWanted = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey);
    if (!isWanted && (event.key !== "/" || isTyping)) return;
    event.preventDefault();
    search();
  });
  document.querySelector('.nav [aria-current="page"]')?.scrollIntoView({ block: "nearest" });
});
