import type { Socket } from "bun";

/** Passes connections on to a server, or takes them and says nothing. */
export class HoldingProxy {
  isSilent = false;
  readonly #listener;

  constructor(to: URL) {
    const others = new Map<Socket, Promise<Socket>>();
    const connect = (from: Socket) =>
      Bun.connect({
        hostname: to.hostname,
        port: Number(to.port),
        socket: {
          data: (_, bytes) => void (this.isSilent || from.write(bytes)),
          close: () => void from.end(),
        },
      });
    this.#listener = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        open: (from) => void others.set(from, connect(from)),
        data: async (from, bytes) => {
          const copy = new Uint8Array(bytes);
          if (!this.isSilent) (await others.get(from))?.write(copy);
        },
        close: async (from) => void (await others.get(from))?.end(),
      },
    });
  }

  get port(): number {
    return this.#listener.port;
  }

  stop(): void {
    this.#listener.stop(true);
  }
}
