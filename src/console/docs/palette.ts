import { type Entry, type Found, find, operationsOf } from "./search.ts";

/** Where the pages are, and what can be found on them. */
interface Site {
  /** The front page, without a slash at its end. */
  readonly docs: string;
  readonly index: string;
}

/** The search of the documentation: a dialog, whose entries are read when it first opens. */
export function searchDialog({ docs, index }: Site): () => void {
  const dialog = element("dialog", { class: "palette", "aria-label": "Search the documentation" });
  const list = element("div", { class: "options", id: "found", role: "listbox", "aria-label": "Found" });
  const note = element("p", { role: "status" });
  const input = element("input", {
    type: "text",
    role: "combobox",
    "aria-label": "Search the documentation",
    "aria-expanded": "true",
    "aria-controls": "found",
    "aria-autocomplete": "list",
    placeholder: "A word, an endpoint, a setting…",
  });
  dialog.append(input, note, list);
  document.body.append(dialog);

  let entries: Promise<readonly Entry[]> | null = null;
  let active = 0;
  const options = () => [...list.children] as HTMLElement[];
  const choose = (at: number) => {
    active = Math.max(0, Math.min(at, options().length - 1));
    options().forEach((option, i) => {
      option.setAttribute("aria-selected", String(i === active));
      if (i !== active) return;
      input.setAttribute("aria-activedescendant", option.id);
      option.scrollIntoView({ block: "nearest" });
    });
  };
  const go = (option: HTMLElement | undefined) => {
    const href = option?.dataset["href"];
    if (href === undefined) return;
    dialog.close();
    location.assign(href);
  };
  const show = async () => {
    entries ??= entriesOf(docs, index);
    const all = await entries.catch(() => {
      entries = null;
      return null;
    });
    const query = input.value.trim();
    const found = all ? find(all, query) : [];
    list.replaceChildren(...found.map((one, i) => optionOf(one, `${docs}/${one.page}`, i)));
    input.removeAttribute("aria-activedescendant");
    note.hidden = found.length > 0;
    note.textContent =
      all === null
        ? "The server cannot be reached."
        : query === ""
          ? "Pages, sections, endpoints."
          : "Nothing has these words.";
    choose(0);
  };
  input.addEventListener("input", show);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") choose(active + 1);
    else if (event.key === "ArrowUp") choose(active - 1);
    else if (event.key === "Enter") go(options()[active]);
    else return;
    event.preventDefault();
  });
  list.addEventListener("click", ({ target }) =>
    go((target as Element).closest<HTMLElement>("[role=option]") ?? undefined),
  );
  dialog.addEventListener("click", ({ target }) => target === dialog && dialog.close());
  return () => {
    if (dialog.open) return;
    dialog.showModal();
    input.select();
    show();
  };
}

async function entriesOf(docs: string, index: string): Promise<readonly Entry[]> {
  const [pages, api] = await Promise.all([read(index), read(`${docs}/../openapi.json`)]);
  return [...(pages as Entry[]), ...operationsOf(api as Parameters<typeof operationsOf>[0])];
}

async function read(url: string): Promise<unknown> {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url} is answered with ${answer.status}`);
  return answer.json();
}

function optionOf({ title, heading, anchor, excerpt }: Found, page: string, i: number): HTMLElement {
  const href = anchor === "" ? page : `${page}#${anchor}`;
  const option = element("div", { role: "option", id: `found-${i}`, "data-href": href });
  const words = element("div", { class: "grow" });
  const name = element("strong", {});
  name.textContent = heading;
  const about = element("span", {});
  about.textContent = excerpt;
  words.append(name, about);
  const where = element("small", {});
  where.textContent = title;
  option.append(words, where);
  return option;
}

function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, string>>,
) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}
