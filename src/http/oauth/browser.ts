import { newSecret } from "../../domain/tokens.ts";
import { replyProblem } from "../errors.ts";
import { type RequestContext, reply } from "../request-context.ts";

/*
 * What the authorization endpoint says to a browser. Addresses here carry codes and challenges: no page on the way
 * learns them as its referrer.
 */

const privately = { "referrer-policy": "no-referrer", "x-content-type-options": "nosniff" };

/** Sends the browser on, by GET whatever it came with (RFC 9700, section 4.12). */
export function redirect(requestContext: RequestContext, location: string, cookie?: string): Response {
  return reply(requestContext, 303, null, {
    ...privately,
    location,
    ...(cookie && { "set-cookie": cookie }),
  });
}

/**
 * An error that must not be sent to the redirect URI (RFC 6749, section 4.1.2.1): an HTML page when the request accepts
 * HTML, else JSON.
 */
export function replyToPerson(requestContext: RequestContext, error: string, description: string): Response {
  if (!(requestContext.request.headers.get("accept") ?? "").includes("text/html")) {
    const problem = { status: 400, code: error, error, message: description, headers: privately };
    return replyProblem(requestContext, problem);
  }
  const body = `<h1>This sign-in does not work</h1><p>${escapeHtml(description)}.</p>
<p>Go back to the application and try again. If that does not help, tell those who made it:
<code>${escapeHtml(error)}</code>, request <code>${escapeHtml(requestContext.requestId)}</code>.</p>`;
  return reply(requestContext, 400, htmlPage("This sign-in does not work", body), {
    ...privately,
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  });
}

/** The look of the console and the portal, for a page that stands alone. */
const style = `:root { color-scheme: light dark; --canvas: #f6f7f9; --surface: #fff; --line: #e2e5ea; --edge: #868e9c;
  --text: #14171c; --muted: #59616e; --accent: #4150d4; --on-accent: #fff }
  @media (prefers-color-scheme: dark) { :root { --canvas: #0d0f13; --surface: #15181e; --line: #282d37; --edge: #687386;
  --text: #e9ecf1; --muted: #9ba4b4; --accent: #8f9bff; --on-accent: #0d0f13 } }
  * { box-sizing: border-box }
  body { display: grid; place-content: center; grid-template-columns: min(100%, 440px); min-height: 100vh; margin: 0;
  padding: 1rem; font: 14px/1.45 "Inter", system-ui, sans-serif; color: var(--text); background: var(--canvas) }
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

/** A page that stands alone. `body` is HTML. */
export function htmlPage(title: string, body: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escapeHtml(title)}</title>
<meta name="viewport" content="width=device-width"><style>${style}</style></head>
<body><main>${body}</main></body></html>`;
}

export function escapeHtml(text: string): string {
  return Bun.escapeHTML(text);
}

const secretForm = /^onair_br_[A-Za-z0-9_-]{43}$/;

/**
 * The cookie by which a browser is known again when it comes back from the platform. One for all its login requests,
 * so that two tabs do not disturb each other. With https its name keeps other hosts of the domain from setting it.
 */
export function browserCookie(publicUrl: string, lifetimeMs: number) {
  const isSecure = publicUrl.startsWith("https://");
  const name = isSecure ? "__Host-onair_browser" : "onair_browser";
  return {
    /** The secret of a browser that has one. */
    read(request: Request): string | null {
      for (const pair of (request.headers.get("cookie") ?? "").split(";")) {
        const [key = "", value = ""] = pair.trim().split("=");
        if (key === name && secretForm.test(value)) return value;
      }
      return null;
    },
    make: () => newSecret("onair_br_"),
    /** Lax, because the browser comes back from another site. */
    header(secret: string): string {
      const attributes = `Path=/; Max-Age=${lifetimeMs / 1000}; HttpOnly; SameSite=Lax`;
      return `${name}=${secret}; ${attributes}${isSecure ? "; Secure" : ""}`;
    },
  };
}
