import type { Log } from "../log/log.ts";

/**
 * Tells systemd the state of the service (`Type=notify`): a datagram to the socket that `NOTIFY_SOCKET` names. Bun and
 * `node:dgram` have no such sockets, so the C library sends it; without one it is not told.
 */
interface ServiceManager {
  /** The server takes requests. From then on the watchdog hears of it, where systemd wants that. */
  ready(): void;
  /** The server ends. The watchdog goes on hearing of it until the process has ended. */
  stopping(): void;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The service manager that started this process; one that hears nothing where there is none. */
export async function serviceManager(env: Environment, log: Log): Promise<ServiceManager> {
  const path = env["NOTIFY_SOCKET"];
  if (!path) return { ready() {}, stopping() {} };
  let send: (state: string) => void;
  try {
    const { datagramTo } = await import("./unix-datagram.ts");
    send = datagramTo(path);
  } catch (error) {
    log.warn("service_manager_not_told", { socket: path, error: String(error) });
    return { ready() {}, stopping() {} };
  }
  return {
    ready() {
      send("READY=1");
      const everyMs = watchdogMs(env) / 3;
      // A main thread that hangs runs no timer, and systemd starts the service anew.
      if (everyMs > 0) setInterval(() => send("WATCHDOG=1"), everyMs).unref();
    },
    stopping: () => send("STOPPING=1"),
  };
}

/** How long systemd waits for a sign of life; 0 where it wants none of this process. */
function watchdogMs(env: Environment): number {
  const isMeant = env["WATCHDOG_PID"] === undefined || env["WATCHDOG_PID"] === `${process.pid}`;
  const ms = Number(env["WATCHDOG_USEC"]) / 1000;
  return isMeant && ms > 0 ? ms : 0;
}
