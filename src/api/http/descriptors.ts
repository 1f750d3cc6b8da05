import { second } from "../../domain/time.ts";
import { cFunctions } from "../../runtime/c-library.ts";
import { descriptorLimit, openDescriptors } from "../../runtime/descriptors.ts";
import { once } from "../../runtime/lazily.ts";
import type { Log } from "../../runtime/log.ts";

/*
 * Makes room when the descriptors of the process are scarce: watches their number, and cuts off connections of clients
 * that send no request.
 */

/**
 * The share of descriptors above which public connections make room. The others are for the admin listener, the store,
 * webhooks, and connections that are accepted between two looks.
 */
const fullPart = 3 / 4;

/** The time between two looks. A burst of connections can use up the free descriptors meanwhile. */
const everyMs = 50;
/** A look takes at most this share of the time: it takes longer with each open descriptor. */
const lookingPart = 1 / 20;

interface DescriptorWatchOptions {
  readonly log: Log;
  /**
   * Called at each look while descriptors are scarce with the number to set free and the limit, and once with 0
   * afterwards.
   */
  readonly scarce: (excess: number, limit: number) => void;
  readonly limit?: number | null;
  readonly open?: () => number | null;
}

/**
 * Watches the open descriptors of this process. While none is free, Bun accepts no connection on any listener and keeps
 * trying, so public connections have to make room before that. Does nothing where the system does not report them.
 */
export function watchDescriptors({
  log,
  scarce,
  limit = descriptorLimit(),
  open = openDescriptors,
}: DescriptorWatchOptions): { stop(): void } {
  if (limit === null) return { stop() {} };
  const most = Math.floor(limit * fullPart);
  let excess = 0;
  let timer: Timer;
  const look = () => {
    const startedAt = performance.now();
    // Without a free descriptor, the open descriptors cannot be listed.
    const count = open() ?? limit;
    const former = excess;
    excess = Math.max(0, count - most);
    if (excess > 0) log.repeated("warn", "descriptors_scarce", "", { open: count, limit });
    if (excess > 0 || former > 0) scarce(excess, limit);
    wait(Math.max(everyMs, (performance.now() - startedAt) / lookingPart));
  };
  const wait = (ms: number) => {
    timer = setTimeout(look, ms);
    timer.unref();
  };
  wait(everyMs);
  return { stop: () => clearTimeout(timer) };
}

/**
 * A client that has not sent a complete head by this time after it has connected, and so has no response, may be cut
 * off.
 */
const headMs = second;
/**
 * A connection on which nothing was sent or received for so long may be cut off. With TLS its client may have had the
 * handshake alone.
 */
const idleMs = 3 * second;
/**
 * A connection on which nothing was sent or received for so long may be cut off although a request is handled. An event
 * stream sends more often.
 */
const busyMs = 20 * second;

const [shutBoth, tcp, tcpInfo, established] = [2, 6, 11, 1];
/** Places in `struct tcp_info` of Linux, which only grows at its end. */
const places = { state: 0, lastDataSent: 44, lastDataReceived: 52, dataSegmentsSent: 156 } as const;
/** The bytes of `struct tcp_info` that are read. */
const infoBytes = 160;
/** The size of `struct sockaddr_in6`, in which the port has the place that it has in `sockaddr_in`. */
const addressBytes = 28;

const system = once(() =>
  cFunctions({
    getsockname: { args: ["int", "buffer", "buffer"], returns: "int" },
    getpeername: { args: ["int", "buffer", "buffer"], returns: "int" },
    getsockopt: { args: ["int", "int", "int", "buffer", "buffer"], returns: "int" },
    shutdown: { args: ["int", "int"], returns: "int" },
  }),
);

interface SilentConnections {
  /** The port of the listener that accepted them. */
  readonly port: number;
  readonly atMost: number;
  /** The ports of clients whose requests are being handled, or answered by a stream. */
  readonly busyPorts: ReadonlySet<number>;
  /** The limit of descriptors of this process. */
  readonly limit: number;
}

/**
 * Cuts off connections of a listener whose client holds them without a request, those first that do so for longest.
 * Bun closes only connections that have had a response. Linux only. Returns how many were cut off.
 */
export function endSilentConnections({ port, atMost, busyPorts, limit }: SilentConnections): number {
  if (atMost <= 0 || process.platform !== "linux") return 0;
  const silent = socketsOf(port, limit).filter(({ hasAnswered, quietMs, sinceSentMs, peerPort }) => {
    if (busyPorts.has(peerPort)) return quietMs >= busyMs;
    return quietMs >= idleMs || (!hasAnswered && sinceSentMs >= headMs);
  });
  const longest = silent.sort((a, b) => b.sinceSentMs - a.sinceSentMs).slice(0, atMost);
  for (const { descriptor } of longest) system().shutdown(descriptor, shutBoth);
  return longest.length;
}

interface AcceptedSocket {
  readonly descriptor: number;
  readonly peerPort: number;
  /** Whether anything was sent on it. */
  readonly hasAnswered: boolean;
  /** The time since something was sent; since it was accepted, if nothing was. */
  readonly sinceSentMs: number;
  /** The time since something was sent or received. */
  readonly quietMs: number;
}

/** Returns the established connections of this process whose local port is `port`. */
function socketsOf(port: number, limit: number): AcceptedSocket[] {
  const { getsockname, getpeername, getsockopt } = system();
  const address = Buffer.alloc(addressBytes);
  const info = Buffer.alloc(infoBytes);
  const length = new Uint32Array(1);
  const found: AcceptedSocket[] = [];
  // Listing the open descriptors would need one more.
  for (let descriptor = 0; descriptor < limit; descriptor++) {
    length[0] = addressBytes;
    if (getsockname(descriptor, address, length) !== 0 || address.readUInt16BE(2) !== port) continue;
    length[0] = infoBytes;
    if (getsockopt(descriptor, tcp, tcpInfo, info, length) !== 0 || info[places.state] !== established)
      continue;
    length[0] = addressBytes;
    if (getpeername(descriptor, address, length) !== 0) continue;
    const sinceSentMs = info.readUInt32LE(places.lastDataSent);
    found.push({
      descriptor,
      peerPort: address.readUInt16BE(2),
      hasAnswered: info.readUInt32LE(places.dataSegmentsSent) > 0,
      sinceSentMs,
      quietMs: Math.min(sinceSentMs, info.readUInt32LE(places.lastDataReceived)),
    });
  }
  return found;
}

/** The size at which requests whose connection has ended are dropped for the first time. */
const firstPruning = 1_024;

type Server = Pick<Bun.Server<undefined>, "requestIP">;

/** The requests that are answered by an event stream. Bun does not say when their connections end. */
export class OpenStreams {
  #requests: Request[] = [];
  #pruneAt = firstPruning;

  add(request: Request, server: Server): void {
    this.#requests.push(request);
    if (this.#requests.length < this.#pruneAt) return;
    this.#prune(server);
    this.#pruneAt = Math.max(firstPruning, 2 * this.#requests.length);
  }

  /** Returns the ports of the clients. */
  ports(server: Server): number[] {
    this.#prune(server);
    return this.#requests.map((request) => server.requestIP(request)?.port ?? 0);
  }

  #prune(server: Server): void {
    this.#requests = this.#requests.filter((request) => server.requestIP(request) !== null);
  }
}
