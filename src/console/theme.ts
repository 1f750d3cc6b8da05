const key = "onair-theme";
const preferred = () => (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

/** Applies the chosen theme, or that of the system if none was chosen, and returns its name. */
export function beginTheme(): string {
  const theme = localStorage.getItem(key) ?? preferred();
  document.documentElement.dataset["theme"] = theme;
  return theme;
}

/** Switches to the other theme, stores the choice, and returns its name. */
export function changeTheme(): string {
  localStorage.setItem(key, otherTheme());
  return beginTheme();
}

/** The name of the theme that is not active. */
export const otherTheme = () => (document.documentElement.dataset["theme"] === "dark" ? "light" : "dark");
