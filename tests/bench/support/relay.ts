import type { Socket } from "bun";

/** How long what passes a relay is held up. */
interface Hold {
  readonly oneWayMs: number;
  /** Of the first bytes back to the client. */
  readonly handshakeMs: number;
}

interface Side {
  other: Socket<Side> | null;
  /** What came before the other side was there. */
  early: Uint8Array[];
  isClient: boolean;
  isFirst: boolean;
}

/** Passes on to a port of loopback what comes, after a while; gives its own port. */
export function startRelay(port: number, hold: () => Hold): number {
  const pass = (socket: Socket<Side>, bytes: Uint8Array): void => {
    const { data } = socket;
    const { oneWayMs, handshakeMs } = hold();
    const waitMs = oneWayMs + (!data.isClient && data.isFirst ? handshakeMs : 0);
    data.isFirst = false;
    const copy = bytes.slice();
    const send = () => {
      if (data.other === null) data.early.push(copy);
      else data.other.write(copy);
    };
    if (waitMs === 0) send();
    else setTimeout(send, waitMs);
  };
  const close = ({ data }: Socket<Side>): void => void data.other?.end();
  const handlers = { data: pass, close, end: close, error: close };
  const listener = Bun.listen<Side>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      ...handlers,
      open(client) {
        client.data = { other: null, early: [], isClient: true, isFirst: true };
        void Bun.connect<Side>({
          hostname: "127.0.0.1",
          port,
          data: { other: client, early: [], isClient: false, isFirst: true },
          socket: {
            ...handlers,
            open(server) {
              client.data.other = server;
              for (const bytes of client.data.early.splice(0)) server.write(bytes);
            },
            connectError: () => void client.end(),
          },
        }).catch(() => client.end());
      },
    },
  });
  return listener.port;
}
