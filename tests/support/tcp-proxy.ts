import { connect, createServer, type Socket } from "node:net";

/** A TCP proxy between a program and a server that can hold or cut their connections. */
export interface TcpProxy {
  readonly port: number;
  /** Number of round trips: sends by the program that followed data from the server. */
  readonly roundTrips: number;
  /** Holds all bytes, in both directions; connections stay open. */
  hold(): void;
  /** Forwards the held bytes and all later ones. */
  release(): void;
  /** Closes all connections and refuses new ones until `release`. */
  cut(): void;
  /** Closes all connections and sends new ones to another port, like a floating address. */
  lead(targetPort: number): void;
  stop(): void;
}

export async function tcpProxy(firstTarget: number): Promise<TcpProxy> {
  let targetPort = firstTarget;
  const sockets = new Set<Socket>();
  let [isHeld, isCut] = [false, false];
  let [roundTrips, isAsking] = [0, false];
  const server = createServer((near) => {
    if (isCut) return void near.destroy();
    const far = connect(targetPort, "127.0.0.1");
    near.on("data", () => {
      if (!isAsking) roundTrips++;
      isAsking = true;
    });
    far.on("data", () => {
      isAsking = false;
    });
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.setNoDelay(true);
      from.on("data", (bytes) => to.write(bytes));
      from.on("error", () => to.destroy());
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
      if (isHeld) from.pause();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the proxy has no port");
  return {
    port: address.port,
    get roundTrips() {
      return roundTrips;
    },
    hold() {
      isHeld = true;
      for (const socket of sockets) socket.pause();
    },
    release() {
      [isHeld, isCut] = [false, false];
      for (const socket of sockets) socket.resume();
    },
    cut() {
      isCut = true;
      for (const socket of sockets) socket.destroy();
    },
    lead(port) {
      targetPort = port;
      for (const socket of sockets) socket.destroy();
    },
    stop() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
