import { hasDescriptor } from "../../descriptors.ts";
import type { Log } from "../../log.ts";
import { connectionClient, type TrustedProxies } from "../../proxies.ts";
import type { CrowdOptions } from "../../wire/crowd.ts";
import type { Tally } from "../../wire/tally.ts";
import type { PublicSettings } from "./server.ts";

const mebibyte = 1024 * 1024;

/** Of all connections, those that one client may have: so nobody alone can take all places. */
const shareOfClient = 1 / 4;

export interface ConnectionsOptions {
  readonly settings: Pick<PublicSettings, "connectionLimit" | "connectionMemory">;
  /** How many threads share the limits evenly, as the kernel does with the connections. */
  readonly threads: number;
  readonly trustedProxies: TrustedProxies | null;
  readonly tally?: Tally | undefined;
  readonly log: Log;
}

/** What the connections to the public listener may take together, in one of its threads. */
export function connectionsOf(options: ConnectionsOptions): CrowdOptions {
  const { settings, threads, trustedProxies, tally, log } = options;
  const connections = Math.ceil(settings.connectionLimit / threads);
  return {
    limits: {
      connections,
      perClient: Math.ceil(connections * shareOfClient),
      heldBytes: (settings.connectionMemory * mebibyte) / threads,
      clientOf: (address) => connectionClient(address, trustedProxies),
    },
    tally,
    hasDescriptor,
    warn: (event, fields) => log.warn(event, fields),
  };
}
