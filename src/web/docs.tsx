import { render } from "preact";
import { SearchDialog } from "./docs/search-dialog.tsx";
import { applyTheme, changeTheme, onSystemTheme, otherTheme } from "./theme.ts";

/*
 * The script of the documentation's pages: theme, menu, copying and search. It runs before the page is painted, so that
 * the page starts in the chosen theme.
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

/** Returns a function that opens the search. */
function searchOpener(): () => void {
  const place = document.body.appendChild(document.createElement("div"));
  const at = (address: string | undefined) => new URL(address ?? "", location.href).href;
  const site = { docs: at(html.dataset["docs"]), index: at(html.dataset["search"]) };
  const close = () => render(null, place);
  return () => render(<SearchDialog {...site} onClose={close} />, place);
}

addEventListener("DOMContentLoaded", () => {
  const byId = (id: string) => document.getElementById(id) as HTMLElement;
  themeButton(byId("theme"));
  menuButton(byId("menu"), document.querySelector(".side") as HTMLElement);
  document.querySelectorAll<HTMLElement>(".code > div").forEach(copyButton);
  const search = searchOpener();
  byId("find").hidden = false;
  byId("find").addEventListener("click", search);
  addEventListener("keydown", (event) => {
    const isTyping = (event.target as Element).matches?.("input, textarea, select");
    const isAsked = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey);
    if (!isAsked && (event.key !== "/" || isTyping)) return;
    event.preventDefault();
    search();
  });
  document.querySelector('.nav [aria-current="page"]')?.scrollIntoView({ block: "nearest" });
});
