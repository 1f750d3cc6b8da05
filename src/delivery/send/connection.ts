import type { LookupFunction, Socket } from "node:net";
import type { ConnectionOptions } from "node:tls";
import { bareHost, type EgressProxy, isIP } from "./address.ts";
import { ResponseParser } from "./response.ts";
import { failureOf, proxyFailure, type SendFailure, type SendStage, type Timings } from "./result.ts";

type HeaderFields = Readonly<Record<string, string>>;

/** The destination of a webhook URL. */
export interface Destination {
  readonly encrypted: boolean;
  /** The host in the form that sockets take: an IPv6 address has no brackets. */
  readonly host: string;
  readonly port: number;
  /** Whether the host is an address and need not be resolved. */
  readonly resolved: boolean;
  /** Host and port in the form that CONNECT takes. */
  readonly authority: string;
  /** Protocol, host and port. Destinations with the same origin share connections. */
  readonly origin: string;
  /** The request's head up to the headers that differ from one request to the next. */
  readonly head: string;
}

/**
 * Returns the destination of a URL.
 *
 * @param url a URL that `checkWebhookUrl` has accepted
 * @param common the header lines of every request
 * @param proxy the egress proxy. It reads http requests, which then have the whole URL (RFC 9112, section 3.2.2) and
 *   the proxy's credentials. It does not see https requests.
 */
export function destinationOf(url: URL, common: string, proxy: EgressProxy | null): Destination {
  const host = bareHost(url);
  const encrypted = url.protocol === "https:";
  const port = url.port === "" ? (encrypted ? 443 : 80) : Number(url.port);
  const readingProxy = encrypted ? null : proxy;
  const path = `${readingProxy === null ? "" : url.origin}${url.pathname}${url.search}`;
  const credentials = readingProxy?.authorization
    ? `Proxy-Authorization: ${readingProxy.authorization}\r\n`
    : "";
  return {
    encrypted,
    host,
    port,
    resolved: isIP(host) !== 0,
    authority: `${url.hostname}:${port}`,
    origin: url.origin,
    head: `POST ${path} HTTP/1.1\r\nHost: ${url.host}\r\n${credentials}${common}`,
  };
}

/**
 * Returns the header lines of every request.
 *
 * @throws TypeError if the user agent cannot be sent
 */
export function commonLines(userAgent: string): string {
  const lines = headerLines({
    Accept: "*/*",
    Connection: "keep-alive",
    "Content-Type": "application/json",
    "User-Agent": userAgent,
  });
  if (lines === null) throw new TypeError("The user agent must be printable.");
  return lines;
}

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** No CR, LF or NUL, nor any other control character but tab. */
const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Headers that this client sets itself, or that change how a request is read. */
const reserved =
  /^(accept|host|connection|content-length|content-type|user-agent|transfer-encoding|te|trailer|upgrade|expect|keep-alive|proxy-.*)$/i;

function headerLines(headers: HeaderFields): string | null {
  let lines = "";
  for (const name in headers) {
    const value = headers[name] ?? "";
    if (!fieldValue.test(value)) return null;
    lines += `${name}: ${value}\r\n`;
  }
  return lines;
}

/**
 * Returns the head of one request in HTTP/1.1 (RFC 9112); null if a header is reserved, or invalid, so that no value
 * can end its line.
 */
export function requestHead(
  destination: Destination,
  headers: HeaderFields,
  bodyBytes: number,
): string | null {
  for (const name in headers) if (!token.test(name) || reserved.test(name)) return null;
  const lines = headerLines(headers);
  return lines === null ? null : `${destination.head}${lines}Content-Length: ${bodyBytes}\r\n\r\n`;
}

/** Modules of Node that are loaded with the first connection, because loading delays the start. */
const net = () => process.getBuiltinModule("node:net");
const tls = () => process.getBuiltinModule("node:tls");

/** How connections are made. */
export interface ConnectOptions {
  /** Resolves names and rejects addresses that may not be called. */
  readonly lookup: LookupFunction;
  /** Certificates (PEM) to trust instead of the well-known authorities. */
  readonly ca: string | undefined;
  readonly proxy: EgressProxy | null;
}

/** The request that a connection currently serves. */
export interface ConnectionOwner {
  /** The connection is open, and a request may be written. */
  ready(): void;
  received(bytes: Buffer): void;
  /** A stage of connecting has been completed. */
  passed(timing: keyof Timings): void;
  /** The connection could not be made, broke, or was closed by the other side. */
  gone(failure: SendFailure): void;
}

type Mutable<T> = { -readonly [key in keyof T]: T[key] };

/**
 * The time after which the next address of a host is tried. The default of `node:net` is too short for distant
 * receivers.
 */
const connectAttemptMs = 1_000;

/** The longest body that is copied behind the head, so that both are one write. */
const maxCopiedBytes = 65_536;

/** One connection to a receiver. Its address is checked when it is made. It serves one request at a time. */
export class Connection {
  readonly destination: Destination;
  /** The duration of each stage of connecting; `firstByteMs` is null. */
  readonly timings: Mutable<Timings> = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null };
  /** The request that events go to; null while the connection is idle. */
  owner: ConnectionOwner | null;
  /** The time until which the connection may be used again while it is idle, on the clock of `performance.now`. */
  keptUntil = 0;

  readonly #options: ConnectOptions;
  #stage: SendStage;
  #stageSince = performance.now();
  /** The socket that requests are written to; for TLS in a tunnel, followed by the socket to the proxy. */
  readonly #sockets: Socket[] = [];
  #isOpen = true;

  /** Begins to connect; events go to `owner`. */
  constructor(destination: Destination, options: ConnectOptions, owner: ConnectionOwner) {
    this.destination = destination;
    this.owner = owner;
    this.#options = options;
    this.#stage = destination.resolved ? "connecting" : "resolving the host name";
    if (options.proxy === null) this.#connect();
    else this.#connectBy(options.proxy);
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  get stage(): SendStage {
    return this.#stage;
  }

  /** Whether all written bytes have been passed to the system. */
  get isDrained(): boolean {
    return this.#sockets[0]?.writableLength === 0;
  }

  /** Writes a request. The body must not change until it is answered. */
  write(head: string, body: Uint8Array): void {
    const [socket] = this.#sockets;
    if (body.length > maxCopiedBytes) {
      socket?.write(head, "latin1");
      socket?.write(body);
      return;
    }
    const bytes = Buffer.allocUnsafe(head.length + body.length);
    bytes.write(head, 0, "latin1");
    bytes.set(body, head.length);
    if (socket !== undefined) writeInBatch(socket, bytes);
  }

  /** Closes the connection without an event. */
  destroy(): void {
    this.owner = null;
    this.#isOpen = false;
    for (const socket of this.#sockets) socket.destroy();
  }

  #connect(): void {
    const { destination } = this;
    const { ca } = this.#options;
    const lookup: LookupFunction = (hostname, options, callback) =>
      this.#options.lookup(hostname, options, (error, ...answer) => {
        if (!error) this.#leaveFor("connecting", "dnsMs");
        callback(error, ...answer);
      });
    const socket = dial({ ...destination, lookup, ca });
    this.#watch(socket);
    if (destination.encrypted) {
      socket.once("connect", () => this.#leaveFor("agreeing on encryption", "connectMs"));
      socket.once("secureConnect", () => this.#ready("tlsMs"));
    } else {
      socket.once("connect", () => this.#ready("connectMs"));
    }
  }

  /** Connects to the egress proxy. The operator sets its address, so it is not checked; the system resolves it. */
  #connectBy(proxy: EgressProxy): void {
    const { destination } = this;
    const { ca } = this.#options;
    this.#stage = "connecting to the egress proxy";
    const socket = dial({ ...proxy, lookup: undefined, ca });
    this.#watch(socket);
    socket.once(proxy.encrypted ? "secureConnect" : "connect", () => {
      if (!destination.encrypted) return this.#ready("connectMs");
      this.#stage = "waiting for the egress proxy";
      openTunnel(socket, proxy, destination.authority, (failure) => {
        if (failure !== null) return this.#end(failure);
        this.#leaveFor("agreeing on encryption", "connectMs");
        const tunnelled = tls().connect({ socket, ...trust(destination.host, ca) });
        this.#watch(tunnelled);
        tunnelled.once("secureConnect", () => this.#ready("tlsMs"));
      });
    });
  }

  #watch(socket: Socket): void {
    this.#sockets.unshift(socket);
    const closed = (): void => {
      const end = () => this.#end(failureOf({ code: "ECONNRESET" }, this.#stage));
      if (socket === this.#sockets[0]) end();
      // If TLS in the tunnel has closed it, the TLS socket reports the reason next.
      else setImmediate(end);
    };
    socket.on("error", (error) => this.#end(failureOf(error, this.#stage)));
    socket.on("end", closed);
    socket.on("close", closed);
  }

  #ready(timing: keyof Timings): void {
    if (!this.#isOpen) return;
    this.#leaveFor("waiting for the answer", timing);
    this.#sockets[0]?.on("data", (bytes: Buffer) => {
      // Bytes on an idle connection belong to no request, so the connection is closed.
      if (this.owner === null) this.destroy();
      else this.owner.received(bytes);
    });
    this.owner?.ready();
  }

  #end(failure: SendFailure): void {
    if (!this.#isOpen) return;
    const { owner } = this;
    this.destroy();
    owner?.gone(failure);
  }

  #leaveFor(stage: SendStage, timing: keyof Timings): void {
    const now = performance.now();
    this.timings[timing] = Math.round((now - this.#stageSince) * 10) / 10;
    this.#stage = stage;
    this.#stageSince = now;
    this.owner?.passed(timing);
  }
}

interface DialOptions {
  readonly encrypted: boolean;
  readonly host: string;
  readonly port: number;
  /** undefined: the system resolves the name. */
  readonly lookup: LookupFunction | undefined;
  readonly ca: string | undefined;
}

function dial({ encrypted, host, port, lookup, ca }: DialOptions): Socket {
  const options = {
    host,
    port,
    noDelay: true,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: connectAttemptMs,
    ...(lookup === undefined ? {} : { lookup }),
  };
  return encrypted ? tls().connect({ ...options, ...trust(host, ca) }) : net().connect(options);
}

/** Options of a TLS connection to `host`, whose certificate must be valid for it. */
function trust(host: string, ca: string | undefined): ConnectionOptions {
  return {
    host,
    // The server name is never an address (RFC 6066, section 3).
    ...(net().isIP(host) === 0 ? { servername: host } : {}),
    ...(ca === undefined ? {} : { ca }),
    ALPNProtocols: ["http/1.1"],
    rejectUnauthorized: true,
  };
}

/**
 * Requests a tunnel to `authority`, an https receiver, from the egress proxy at the other end of `socket` (RFC 9110,
 * section 9.3.6). `done` is called at most once, with null when the tunnel is open. The caller must handle errors and
 * closing of the socket.
 */
function openTunnel(
  socket: Socket,
  { authorization }: EgressProxy,
  authority: string,
  done: (failure: SendFailure | null) => void,
): void {
  const response = new ResponseParser({ maxBodyBytes: 0, keepBytes: 0 }, { tunnel: true });
  const read = (chunk: Buffer): void => {
    const hasSurplus = response.feed(chunk) < chunk.length;
    if (response.status === null && response.fault === null) return;
    socket.off("data", read);
    const isOpen = response.status !== null && response.status < 300;
    // Bytes after the head are an error, because in TLS the receiver does not send first.
    done(isOpen && !hasSurplus ? null : proxyFailure(isOpen ? null : response.status));
  };
  socket.on("data", read);
  const credentials = authorization === null ? "" : `Proxy-Authorization: ${authorization}\r\n`;
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${credentials}\r\n`, "latin1");
}

/** A request that has not been written yet. */
interface PendingWrite {
  readonly socket: Socket;
  readonly bytes: Buffer;
}

let pending: PendingWrite[] = [];

/**
 * Writes to a socket in a microtask, together with all other writes until then.
 * Signing and sending evict each other from the processor's caches, so batches take less processor time.
 */
export function writeInBatch(socket: Socket, bytes: Buffer): void {
  if (pending.length === 0) queueMicrotask(writeAll);
  pending.push({ socket, bytes });
}

function writeAll(): void {
  const batch = pending;
  pending = [];
  for (const { socket, bytes } of batch) {
    if (!socket.destroyed) socket.write(bytes);
  }
}

/**
 * How long an idle connection is kept. Common servers keep connections longer (Node.js: 5 s), so they seldom close a
 * connection at the moment of its next use.
 */
const idleMs = 4_000;

/** The interval at which expired connections are closed. An expired connection is never used again. */
const sweepMs = 1_000;

/**
 * The idle connections of all origins, kept for the next request to the same protocol, host and port. Times are on the
 * clock of `performance.now`.
 *
 * The capacity bounds all origins together and includes connections in use. A bound per origin would not do: thousands
 * of endpoints may share one origin, and need as many connections as they use at once.
 */
export class Pool {
  readonly #idle = new Map<string, Connection[]>();
  readonly #capacity: number;
  readonly #inUse: () => number;
  #count = 0;
  #sweeping: Timer | null = null;

  /** @param options.capacity the maximum number of connections, those in use included */
  constructor({ capacity, inUse }: { readonly capacity: number; readonly inUse: () => number }) {
    this.#capacity = capacity;
    this.#inUse = inUse;
  }

  /** Removes and returns the most recently used connection to `origin`; null if there is none that may be used. */
  take(origin: string, now: number): Connection | null {
    const idle = this.#idle.get(origin);
    if (idle === undefined) return null;
    for (let found = idle.pop(); found !== undefined; found = idle.pop()) {
      this.#count--;
      if (found.isOpen && found.keptUntil > now) return found;
      found.destroy();
    }
    return null;
  }

  /** Closes an idle connection if a new connection would exceed the capacity. */
  evictIfFull(): void {
    if (this.#count === 0 || this.#count + this.#inUse() <= this.#capacity) return;
    for (const [origin, idle] of this.#idle) {
      const oldest = idle.shift();
      if (idle.length === 0) this.#idle.delete(origin);
      if (oldest === undefined) continue;
      this.#count--;
      oldest.destroy();
      return;
    }
  }

  /** Keeps a connection that is no longer in use, for at most `keepMs`; closes it if the capacity is used up. */
  keep(connection: Connection, keepMs: number, now: number): void {
    if (this.#count + this.#inUse() >= this.#capacity) {
      connection.destroy();
      return;
    }
    const { origin } = connection.destination;
    let idle = this.#idle.get(origin);
    if (idle === undefined) {
      idle = [];
      this.#idle.set(origin, idle);
    }
    this.#count++;
    connection.owner = null;
    connection.keptUntil = now + Math.min(keepMs, idleMs);
    idle.push(connection);
    this.#sweeping ??= setInterval(() => this.#sweep(), sweepMs);
  }

  /** Closes all idle connections. */
  close(): void {
    for (const idle of this.#idle.values()) for (const connection of idle) connection.destroy();
    this.#idle.clear();
    this.#count = 0;
    this.#stopSweeping();
  }

  #sweep(): void {
    const now = performance.now();
    for (const [origin, idle] of this.#idle) {
      const good: Connection[] = [];
      for (const connection of idle) {
        if (connection.isOpen && connection.keptUntil > now) good.push(connection);
        else connection.destroy();
      }
      this.#count -= idle.length - good.length;
      if (good.length === 0) this.#idle.delete(origin);
      else this.#idle.set(origin, good);
    }
    if (this.#idle.size === 0) this.#stopSweeping();
  }

  #stopSweeping(): void {
    if (this.#sweeping !== null) clearInterval(this.#sweeping);
    this.#sweeping = null;
  }
}
