import type { Answerer } from "./answerer.ts";
import { Arrivals } from "./arrivals.ts";
import { Connection } from "./connection.ts";
import { Crowd, type CrowdOptions } from "./crowd.ts";
import type { Socket } from "./socket.ts";

export interface WireOptions {
  readonly hostname: string;
  readonly port: number;
  /** Whether others may listen on the same port, each getting its share of the connections. */
  readonly reusePort?: boolean;
  readonly answerer: Answerer;
  /** Without limits where left out. */
  readonly crowd?: CrowdOptions;
  /** Milliseconds of a clock that nobody sets. */
  readonly now?: () => number;
}

export interface WireServer {
  readonly port: number;
  /** Stops accepting, lets answers under way finish for up to `graceMs`, then cuts them off. */
  stop(graceMs: number): Promise<void>;
}

const lookEveryMs = 1_000;

const unlimited: CrowdOptions = {
  limits: {
    connections: Number.POSITIVE_INFINITY,
    perClient: Number.POSITIVE_INFINITY,
    heldBytes: Number.POSITIVE_INFINITY,
    clientOf: () => null,
  },
  hasDescriptor: () => true,
  warn() {},
};

/** Serves HTTP/1.1 on a port. Throws when it is taken. */
export function serveWire({
  hostname,
  port,
  reusePort = false,
  answerer,
  ...options
}: WireOptions): WireServer {
  const { now = performance.now.bind(performance) } = options;
  const crowd = new Crowd(options.crowd ?? unlimited);
  const arrivals = new Arrivals();
  let isStopping = false;
  const gone = Promise.withResolvers<void>();
  const listener = listenAt(hostname, port, {
    reusePort,
    socket: {
      open(socket) {
        socket.data = new Connection(socket as unknown as Socket, answerer, now, crowd);
        crowd.enter(socket.data);
        // Accepted together with one that was before the end.
        if (isStopping) socket.data.finish();
      },
      data(socket, bytes) {
        arrivals.add(socket.data, bytes);
      },
      drain(socket) {
        arrivals.read();
        socket.data.writable();
      },
      end(socket) {
        arrivals.read();
        socket.data.ended();
      },
      close({ data: connection }) {
        // One that broke down before it was open has none.
        if (!connection) return;
        arrivals.read();
        connection.closed();
        crowd.leave(connection);
        if (isStopping && crowd.size === 0) gone.resolve();
      },
      error({ data: connection }) {
        arrivals.read();
        connection?.close();
      },
    },
  });
  const looking = setInterval(() => {
    arrivals.read();
    crowd.look(now());
  }, lookEveryMs);
  return {
    port: listener.port,
    async stop(graceMs) {
      isStopping = true;
      listener.stop();
      arrivals.read();
      crowd.finish();
      const late = setTimeout(() => {
        crowd.close();
        gone.resolve();
      }, graceMs);
      if (crowd.size > 0) await gone.promise;
      clearTimeout(late);
      clearInterval(looking);
    },
  };
}

/** Says what is wrong with an address where Bun does not. */
function listenAt(
  hostname: string,
  port: number,
  // A boundary: Bun's types know neither `reusePort` nor, on its sockets, `pause` and `resume`.
  options: { reusePort: boolean; socket: Bun.SocketHandler<Connection> },
): Bun.TCPSocketListener<Connection> {
  try {
    return Bun.listen<Connection>({ hostname, port, allowHalfOpen: true, ...options });
  } catch (error) {
    const { code } = error as { code?: string };
    const why = reasons[code ?? ""] ?? "it cannot be listened on";
    throw Object.assign(new Error(`${hostname}, port ${port}: ${why}`, { cause: error }), { code });
  }
}

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: "another program has it",
  EADDRNOTAVAIL: "this machine has no such address",
  EACCES: "this user may not listen on this port",
};
