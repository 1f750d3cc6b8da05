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
  /**
   * Makes one connection silent, like a dropped flow: the one that sends the message `at`. Its bytes go nowhere from
   * then on, and the server does not learn that the program has closed it. Resolves when that has happened, to a
   * function that makes the held message arrive late, and resolves when the server has answered. From then on the
   * connection works, if the program has not closed it.
   */
  silence(at: SilentAt): Promise<() => Promise<void>>;
  stop(): void;
}

/**
 * The message that a silent connection sends last: any, LISTEN, the first statement of a transaction, or COMMIT, which
 * the server does not get; or a COMMIT, or the lock of a table, that it gets but whose answer is lost.
 */
export type SilentAt =
  | "message"
  | "listen"
  | "statement"
  | "commit"
  | "answer to commit"
  | "answer to table lock";

interface Silence {
  readonly at: SilentAt;
  happened(arrive: () => Promise<void>): void;
}

export async function tcpProxy(firstTarget: number): Promise<TcpProxy> {
  let targetPort = firstTarget;
  const sockets = new Set<Socket>();
  let [isHeld, isCut] = [false, false];
  let [roundTrips, isAsking] = [0, false];
  let silence: Silence | null = null;

  /** Whether a message of the program goes on, and whether its connection is silent from then on. */
  const fateOf = (bytes: Buffer, isInTransaction: boolean) => {
    const isIt = {
      message: true,
      listen: bytes.includes("LISTEN"),
      statement: isInTransaction,
      commit: bytes.includes("COMMIT"),
      "answer to commit": bytes.includes("COMMIT"),
      "answer to table lock": bytes.includes("LOCK TABLE"),
    };
    if (silence === null || !isIt[silence.at]) return { hit: null, isLost: false };
    const hit = silence;
    silence = null;
    return { hit, isLost: !hit.at.startsWith("answer") };
  };
  const server = createServer((near) => {
    if (isCut) return void near.destroy();
    const far = connect(targetPort, "127.0.0.1");
    let [isSilent, isInTransaction] = [false, false];
    near.on("data", (bytes: Buffer) => {
      if (!isAsking) roundTrips++;
      isAsking = true;
      if (isSilent) return;
      const { hit, isLost } = fateOf(bytes, isInTransaction);
      isSilent = hit !== null;
      hit?.happened(async () => {
        isSilent = false;
        const answered = new Promise((resolve) => far.once("data", resolve));
        if (isLost) far.write(bytes);
        await answered;
      });
      isInTransaction = bytes.includes("BEGIN");
      if (!isLost) far.write(bytes);
    });
    far.on("data", (bytes: Buffer) => {
      isAsking = false;
      if (!isSilent) near.write(bytes);
    });
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.setNoDelay(true);
      from.on("error", () => {});
      from.on("close", () => {
        sockets.delete(from);
        if (!isSilent) to.destroy();
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
    silence(at) {
      return new Promise((happened) => {
        silence = { at, happened };
      });
    },
    stop() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
