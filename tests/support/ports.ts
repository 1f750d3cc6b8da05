import { connect } from "node:net";

/** The port of the discard protocol (RFC 863), on which nothing listens: the system gives it to nobody by itself. */
export const closedPort = 9;

/**
 * A port on which nothing listens, for a program that has to be told one. It is none of those that the system gives
 * away by itself, so that no connection takes it meanwhile.
 */
export async function unusedPort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 10_000);
    if (!(await isListening(port))) return port;
  }
}

export function isListening(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(port, "127.0.0.1");
  socket.on("connect", () => resolve(true)).on("error", () => resolve(false));
  return promise.finally(() => socket.destroy());
}
