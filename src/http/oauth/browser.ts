import { newSecret, secretHash } from "../../domain/tokens.ts";
import { replyProblem } from "../errors.ts";
import { cookiesOf, privateCookie } from "../pages/cookie.ts";
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

/** The application that a failed sign-in was for. */
interface Asking {
  readonly name: string;
  /** The redirect URI with the error. */
  readonly errorUri: string;
}

/**
 * Returns an error that the browser shows: an HTML page if the request accepts HTML, else JSON. Before a user has
 * logged in, no error is a redirect, because anyone can make a link that causes one, to a URI that only the developer
 * of the application has chosen (RFC 9700, section 4.11.2). The page has a link to the application instead.
 *
 * @param asking null if the application or its redirect URI is not valid (RFC 6749, section 4.1.2.1)
 */
export function replyToPerson(
  requestContext: RequestContext,
  error: string,
  description: string,
  asking: Asking | null = null,
): Response {
  if (!(requestContext.request.headers.get("accept") ?? "").includes("text/html")) {
    const problem = { status: 400, code: error, error, message: description, headers: privately };
    return replyProblem(requestContext, problem);
  }
  const body = `<h1>This sign-in does not work</h1><p>${Bun.escapeHTML(description)}.</p>
${asking ? backTo(asking) : "<p>Go back to the application and try again.</p>"}
<p>If that does not help, contact its developer: <code>${Bun.escapeHTML(error)}</code>, request
<code>${Bun.escapeHTML(requestContext.requestId)}</code>.</p>`;
  const page = htmlPage("This sign-in does not work", body, "../");
  return reply(requestContext, 400, page, { ...privately, ...htmlHeaders });
}

function backTo({ name, errorUri }: Asking): string {
  const shown = errorUri.replace(/\?.*/s, "");
  return `<p>An application with the name “${Bun.escapeHTML(name)}” asked for it. Back to the application:
<a rel="noreferrer" href="${Bun.escapeHTML(errorUri)}">${Bun.escapeHTML(shown)}</a></p>`;
}

const secretForm = /^onair_br_[A-Za-z0-9_-]{43}$/;

/**
 * The cookies that identify a browser when it returns from the platform. Its login requests share one, unless they were
 * begun at once: then each has its own, with another name, so that none replaces another's.
 */
export function browserCookies(publicUrl: string, lifetimeMs: number) {
  // SameSite=Lax, because the browser returns from another site.
  const cookieOf = (name: string) =>
    privateCookie(`onair_browser_${name}`, publicUrl.startsWith("https://"), "Lax");
  const prefix = cookieOf("").name;
  return {
    /** Returns the secrets of the browser. */
    read: (request: Request): string[] =>
      cookiesOf(request).flatMap(([name, value]) =>
        name.startsWith(prefix) && secretForm.test(value) ? [value] : [],
      ),
    make: () => newSecret("onair_br_"),
    /** Returns the header that sets the cookie of a secret, whose name is a hash of it. */
    header: (secret: string) =>
      cookieOf(secretHash(secret).toString("hex", 0, 4)).header(secret, lifetimeMs / 1000),
  };
}
