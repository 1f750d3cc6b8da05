import { newSecret } from "../../domain/tokens.ts";
import { replyProblem } from "../errors.ts";
import { privateCookie } from "../pages/cookie.ts";
import { htmlHeaders, htmlPage } from "../pages/standalone.ts";
import { type RequestContext, reply } from "../request-context.ts";

/*
 * Responses of the authorization endpoint to a browser. The URLs have codes and challenges, so none is sent as a
 * referrer.
 */

const privately = { "referrer-policy": "no-referrer", "x-content-type-options": "nosniff" };

/** Redirects the browser with 303, so that it uses GET (RFC 9700, section 4.12). */
export function redirect(requestContext: RequestContext, location: string, cookie?: string): Response {
  return reply(requestContext, 303, null, {
    ...privately,
    location,
    ...(cookie && { "set-cookie": cookie }),
  });
}

/**
 * Returns an error that must not be sent to the redirect URI (RFC 6749, section 4.1.2.1): an HTML page if the request
 * accepts HTML, else JSON.
 */
export function replyToPerson(requestContext: RequestContext, error: string, description: string): Response {
  if (!(requestContext.request.headers.get("accept") ?? "").includes("text/html")) {
    const problem = { status: 400, code: error, error, message: description, headers: privately };
    return replyProblem(requestContext, problem);
  }
  const body = `<h1>This sign-in does not work</h1><p>${Bun.escapeHTML(description)}.</p>
<p>Go back to the application and try again. If that does not help, contact its developer:
<code>${Bun.escapeHTML(error)}</code>, request <code>${Bun.escapeHTML(requestContext.requestId)}</code>.</p>`;
  const page = htmlPage("This sign-in does not work", body, "../");
  return reply(requestContext, 400, page, { ...privately, ...htmlHeaders });
}

const secretForm = /^onair_br_[A-Za-z0-9_-]{43}$/;

/**
 * The cookie that identifies a browser when it returns from the platform. All its login requests share one, so that two
 * tabs do not interfere.
 */
export function browserCookie(publicUrl: string, lifetimeMs: number) {
  // SameSite=Lax, because the browser returns from another site.
  const cookie = privateCookie("onair_browser", publicUrl.startsWith("https://"), "Lax");
  return {
    /** Returns the secret of the browser, or null. */
    read(request: Request): string | null {
      const value = cookie.read(request) ?? "";
      return secretForm.test(value) ? value : null;
    },
    make: () => newSecret("onair_br_"),
    header: (secret: string) => cookie.header(secret, lifetimeMs / 1000),
  };
}
