/** The first free port of these; 0, for a port of the system's choice, when all are taken. */
export function firstFree(hostname: string, ports: readonly number[]): number {
  return ports.find((port) => isFree(hostname, port)) ?? 0;
}

function isFree(hostname: string, port: number): boolean {
  try {
    const probe = Bun.serve({ hostname, port, reusePort: false, fetch: () => new Response(null) });
    void probe.stop(true);
    return true;
  } catch {
    // Other problems are reported by the server's start.
    return false;
  }
}

/** A port and its alternatives, ten apart, so that the ports of one platform share an offset. */
export function withAlternatives(port: number): number[] {
  return Array.from({ length: 10 }, (_, i) => port + 10 * i);
}
