const key = "onair-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

/** Applies the chosen theme, or that of the system if none was chosen, and returns its name. */
export function applyTheme(): string {
  const theme = localStorage.getItem(key) ?? (system.matches ? "dark" : "light");
  document.documentElement.dataset["theme"] = theme;
  return theme;
}

/** Calls `changed` when the theme of the system changes; apply the theme then. */
export const onSystemTheme = (changed: () => void) => system.addEventListener("change", changed);

/** Switches to the other theme, stores the choice, and returns its name. */
export function changeTheme(): string {
  localStorage.setItem(key, otherTheme());
  return applyTheme();
}

/** The name of the theme that is not active. */
export const otherTheme = () => (document.documentElement.dataset["theme"] === "dark" ? "light" : "dark");
