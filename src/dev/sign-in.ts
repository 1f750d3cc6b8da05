import { font, fontHeaders } from "../http/pages/files.ts";
import { fontPath } from "../http/pages/standalone.ts";
import { loginPage, loginPath } from "./login-page.ts";
import { firstFree, withAlternatives } from "./ports.ts";
import { callbackPath, sampleClient, startPath } from "./sample-client.ts";
import type { SamplePerson } from "./sample-person.ts";

/** The pages of `onair dev` for a browser: the platform's login page, and a sample application. */
export interface SignIn {
  readonly loginUrl: string;
  /** The URL to start at. */
  readonly startUrl: string;
  readonly redirectUri: string;
  stop(): Promise<void>;
}

interface SignInOptions {
  /** The URLs of the server, which starts later. */
  readonly publicUrl: () => string;
  readonly adminUrl: () => string;
  readonly adminKey: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly people: readonly SamplePerson[];
}

const hostname = "127.0.0.1";
const defaultPort = 8083;
const maxBodyBytes = 16 * 1024;

const redirectUriForm = /^http:\/\/127\.0\.0\.1:[0-9]+\/callback$/;

/** Whether a redirect URI belongs to the sample application, whatever its port. */
export function isSampleRedirectUri(uri: string): boolean {
  return redirectUriForm.test(uri);
}

/** Serves both pages on one loopback port. */
export function startSignIn(options: SignInOptions): SignIn {
  let origin = "";
  const platform = loginPage(options);
  const application = sampleClient({ ...options, redirectUri: () => origin + callbackPath });
  const server = Bun.serve({
    hostname,
    port: firstFree(hostname, withAlternatives(defaultPort)),
    reusePort: false,
    development: false,
    maxRequestBodySize: maxBodyBytes,
    async fetch(request) {
      const url = new URL(request.url);
      if (url.pathname === fontPath) return new Response((await font()).body, { headers: fontHeaders });
      if (url.pathname === loginPath) return platform(request);
      const isKnown = url.pathname === startPath || url.pathname === callbackPath;
      return isKnown && request.method === "GET" ? application(url) : new Response(null, { status: 404 });
    },
    error: () => new Response(null, { status: 500 }),
  });
  origin = `http://${hostname}:${server.port}`;
  return {
    loginUrl: origin + loginPath,
    startUrl: origin + startPath,
    redirectUri: origin + callbackPath,
    stop: () => server.stop(true),
  };
}
