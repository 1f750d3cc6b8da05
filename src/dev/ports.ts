import { explainListenError } from "../api/http/server.ts";

/** Where the receiver and the pages of the sign-in listen. */
export const loopback = "127.0.0.1";

/** Serves on a loopback port. The error for a port in use names its option. */
export function serveOnLoopback(
  option: string,
  port: number,
  {
    fetch,
    ...options
  }: Pick<Bun.Serve.Options<undefined>, "maxRequestBodySize" | "error"> & {
    fetch(request: Request): Response | Promise<Response>;
  },
): Bun.Server<undefined> {
  const own = { hostname: loopback, port, reusePort: false, development: false };
  return explainListenError(loopback, port, option, () => Bun.serve({ ...options, ...own, fetch }));
}

/** Returns the first free port of `ports`; 0, for any port, when all are in use. */
export function firstFree(hostname: string, ports: readonly number[]): number {
  return ports.find((port) => isFree(hostname, port)) ?? 0;
}

function isFree(hostname: string, port: number): boolean {
  try {
    const probe = Bun.serve({ hostname, port, reusePort: false, fetch: () => new Response(null) });
    void probe.stop(true);
    return true;
  } catch {
    // The server reports other problems at its start.
    return false;
  }
}

/** Returns a port and its alternatives, ten apart, so that all ports of a platform can have the same offset. */
export function withAlternatives(port: number): number[] {
  return Array.from({ length: 10 }, (_, i) => port + 10 * i);
}
