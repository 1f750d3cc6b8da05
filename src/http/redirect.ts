import { explainListenError } from "./server.ts";

interface RedirectOptions {
  readonly hostname: string;
  /** 0 picks a free one. */
  readonly port: number;
  /** Where to, without a trailing slash. Never the `Host` of the request, which the client chooses. */
  readonly to: string;
}

/** Sends every request to the same path of another URL, with its method. Throws when the port is taken. */
export function startRedirect({ hostname, port, to }: RedirectOptions) {
  const answer = ({ url }: Request) => {
    const { pathname, search } = new URL(url, to);
    return new Response(null, { status: 308, headers: { location: `${to}${pathname}${search}` } });
  };
  const options = { hostname, port, reusePort: false, development: false, idleTimeout: 10, fetch: answer };
  const server = explainListenError(hostname, port, () => Bun.serve(options));
  return { port: server.port ?? port, stop: (_graceMs: number) => server.stop(true) };
}
