/*
 * Pages without scripts for signing in. They look like the console and the portal, and use only their font.
 */

/** The path at which a listener with such pages must serve the font. */
export const fontPath = "/inter.woff2";

export const htmlHeaders = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy":
    "default-src 'none'; style-src 'unsafe-inline'; font-src 'self'; img-src data:; frame-ancestors 'none'",
};

const style = `:root { color-scheme: light dark; --canvas: #f6f7f9; --surface: #fff; --line: #e2e5ea; --edge: #868e9c;
  --text: #14171c; --muted: #59616e; --accent: #4150d4; --on-accent: #fff }
  @media (prefers-color-scheme: dark) { :root { --canvas: #0d0f13; --surface: #15181e; --line: #282d37; --edge: #687386;
  --text: #e9ecf1; --muted: #9ba4b4; --accent: #8f9bff; --on-accent: #0d0f13 } }
  * { box-sizing: border-box }
  body { display: grid; place-content: center; grid-template-columns: min(100%, 440px); gap: 20px; min-height: 100vh;
  margin: 0; padding: 16px; font: 14px/20px "Inter", system-ui, sans-serif; font-feature-settings: "tnum", "cv05", "ss03";
  color: var(--text); background: var(--canvas) }
  header { display: flex; align-items: center; justify-content: center; gap: 10px; font-size: 17px; font-weight: 650;
  letter-spacing: -.01em } header svg { width: 22px; height: 22px } header small { font-weight: 450; color: var(--muted) }
  main { padding: 28px; border: 1px solid var(--line); border-radius: 10px; background: var(--surface);
  box-shadow: 0 1px 2px rgb(16 24 40 / 5%); overflow-wrap: anywhere }
  h1 { margin: 0 0 12px; font-size: 20px; line-height: 1.3; letter-spacing: -.015em }
  p { margin: 12px 0 0 } ul { margin: 8px 0 0; padding-left: 20px } code { font-size: 12.5px }
  pre { margin: 8px 0 0; padding: 10px 12px; border: 1px solid var(--line); border-radius: 8px; white-space: pre-wrap }
  label { font-weight: 550 } form + p { color: var(--muted) }
  select { display: block; width: 100%; margin-top: 5px; padding: 8px 10px; border: 1px solid var(--edge); border-radius: 8px;
  font: inherit; color: inherit; background: var(--surface) }
  button { padding: 8px 14px; margin: 4px 8px 0 0; border: 1px solid var(--line); border-radius: 8px; font: inherit;
  font-weight: 550; color: inherit; background: var(--surface); cursor: pointer }
  button[value="allow"] { border-color: var(--accent); background: var(--accent); color: var(--on-accent) }
  :focus-visible { outline: 2px solid var(--accent); outline-offset: 2px }`;

const lamp = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" aria-hidden="true"><circle cx="16" cy="16" r="14" fill="#c81e4a"/><circle cx="16" cy="16" r="5" fill="#fff"/></svg>`;

/** Returns a page without files. @param body HTML @param root the relative URL of the root, which has the font */
export function htmlPage(title: string, body: string, root = ""): string {
  const font = `@font-face { font-family: "Inter"; src: url("${root}${fontPath.slice(1)}") format("woff2");
  font-weight: 100 900; font-display: swap }`;
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${Bun.escapeHTML(title)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(lamp)}"><style>${font}
  ${style}</style></head>
<body><header>${lamp}<span>On Air <small>Sign in</small></span></header><main>${body}</main></body></html>`;
}
