const key = "onair-theme";
const preferred = () => (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

/** Puts the page into the theme that was chosen; until one is chosen, into that of the system. Gives its name. */
export function beginTheme(): string {
  const theme = localStorage.getItem(key) ?? preferred();
  document.documentElement.dataset["theme"] = theme;
  return theme;
}

/** Chooses the other theme, which is kept, and gives its name. */
export function changeTheme(): string {
  localStorage.setItem(key, otherTheme());
  return beginTheme();
}

/** The name of the theme that is not in force. */
export const otherTheme = () => (document.documentElement.dataset["theme"] === "dark" ? "light" : "dark");
