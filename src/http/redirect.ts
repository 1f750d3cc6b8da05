import { explainListenError } from "./server.ts";

interface RedirectOptions {
  readonly hostname: string;
  /** 0 selects a free port. */
  readonly port: number;
  /**
   * The destination URL, without a trailing slash. The `Host` of the request is never used, because the client chooses
   * it.
   */
  readonly to: string;
}

/** Redirects every request to the same path of another URL, with 308. Throws if the port is in use. */
export function startRedirect({ hostname, port, to }: RedirectOptions) {
  const answer = ({ url }: Request) => {
    const { pathname, search } = new URL(url, to);
    return new Response(null, {
      status: 308,
      headers: { location: `${to}${pathname}${search}`, connection: "close" },
    });
  };
  const options = { hostname, port, reusePort: false, development: false, idleTimeout: 10, fetch: answer };
  const server = explainListenError(hostname, port, "--redirect-port", () => Bun.serve(options));
  return { port: server.port ?? port, stop: (_graceMs: number) => server.stop(true) };
}
