import { cFunctions } from "../runtime/c-library.ts";
import type { Log } from "../runtime/log.ts";

/**
 * Notifies systemd of the state of the service (`Type=notify`), by datagrams to the Unix socket in `NOTIFY_SOCKET`. Bun
 * and `node:dgram` do not support these, so the C library sends them; without one, nothing is sent.
 */
interface ServiceManager {
  /** Reports that the server accepts requests. From then on it also notifies the watchdog, if that is enabled. */
  ready(): void;
  /** Reports that the server is stopping. The watchdog is notified until the process ends. */
  stopping(): void;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the service manager that started this process; one that does nothing if there is none. */
export async function serviceManager(env: Environment, log: Log): Promise<ServiceManager> {
  const path = env["NOTIFY_SOCKET"];
  if (!path) return { ready() {}, stopping() {} };
  let send: (state: string) => void;
  try {
    send = datagramTo(path);
  } catch (error) {
    log.warn("service_manager_not_told", { socket: path, error: String(error) });
    return { ready() {}, stopping() {} };
  }
  return {
    ready() {
      send("READY=1");
      const everyMs = watchdogMs(env) / 3;
      // If the main thread hangs, it runs no timer, and systemd restarts the service.
      if (everyMs > 0) setInterval(() => send("WATCHDOG=1"), everyMs).unref();
    },
    stopping: () => send("STOPPING=1"),
  };
}

/** Returns the watchdog time of systemd; 0 if the watchdog is off or for another process. */
function watchdogMs(env: Environment): number {
  const isMeant = env["WATCHDOG_PID"] === undefined || env["WATCHDOG_PID"] === `${process.pid}`;
  const ms = Number(env["WATCHDOG_USEC"]) / 1000;
  return isMeant && ms > 0 ? ms : 0;
}

const [unixFamily, datagram, closeOnExec, dontWait] = [1, 2, 0o2000000, 0x40];
/** The longest `sun_path` of `sockaddr_un`, which ends with a zero byte. */
const longestPath = 107;

/** Returns a function that sends a text to a socket, without waiting. A name with `@` is abstract. Linux only. */
function datagramTo(path: string): (text: string) => void {
  const name = Buffer.from(path.replace(/^@/, "\0"));
  if (name.length > longestPath) throw new RangeError("the name of the socket is too long");
  const { socket, sendto } = library();
  const address = Buffer.concat([Buffer.from(new Uint16Array([unixFamily]).buffer), name]);
  const descriptor = socket(unixFamily, datagram | closeOnExec, 0);
  if (descriptor < 0) throw new Error("the socket cannot be created");
  return (text) => {
    const bytes = Buffer.from(text);
    sendto(descriptor, bytes, bytes.length, dontWait, address, address.length);
  };
}

const library = () =>
  cFunctions({
    socket: { args: ["int", "int", "int"], returns: "int" },
    sendto: { args: ["int", "buffer", "u64", "int", "buffer", "u32"], returns: "i64" },
  });
