/** The first of these ports that nobody listens on; 0, which has the system pick one, where all are taken. */
export function firstFree(hostname: string, ports: readonly number[]): number {
  return ports.find((port) => isFree(hostname, port)) ?? 0;
}

function isFree(hostname: string, port: number): boolean {
  try {
    const probe = Bun.serve({ hostname, port, reusePort: false, fetch: () => new Response(null) });
    void probe.stop(true);
    return true;
  } catch {
    // Whatever else is wrong with the address, starting the server on it says it better.
    return false;
  }
}

/** A port and others to fall back on, ten apart, so that several platforms side by side have ports that go together. */
export function withAlternatives(port: number): number[] {
  return Array.from({ length: 10 }, (_, i) => port + 10 * i);
}
