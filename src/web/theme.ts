const key = "onair-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

/** Applies the chosen theme; without a choice, the theme of the system. Returns the name of the theme. */
export function applyTheme(): string {
  const theme = localStorage.getItem(key) ?? (system.matches ? "dark" : "light");
  document.documentElement.dataset["theme"] = theme;
  return theme;
}

/** Calls `changed` when the theme of the system changes. `changed` must apply the theme. */
export const onSystemTheme = (changed: () => void) => system.addEventListener("change", changed);

/** Switches to the other theme, stores the choice, and returns the name of the theme. */
export function changeTheme(): string {
  localStorage.setItem(key, otherTheme());
  return applyTheme();
}

/** The name of the theme that is not active. */
export const otherTheme = () => (document.documentElement.dataset["theme"] === "dark" ? "light" : "dark");
