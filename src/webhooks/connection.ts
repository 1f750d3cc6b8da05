/** One connection that webhooks are sent over: guarded when it is made, serving one request at a time. */

import type { LookupFunction, Socket } from "node:net";
import type { ConnectionOptions } from "node:tls";
import { writeSoon } from "./outbox.ts";
import { type Failure, failureOf, type Stage } from "./outcome.ts";
import { type EgressProxy, openTunnel } from "./proxy.ts";
import type { Target } from "./request.ts";

/** Loaded with the first connection, because that takes some 8 ms, for which no start should wait. */
const net = () => process.getBuiltinModule("node:net");
const tls = () => process.getBuiltinModule("node:tls");

/**
 * Of several addresses of a host, the next is tried when one has not answered for so long. The
 * default, 250 ms, gives up on receivers at the other end of the world.
 */
const connectAttemptMs = 1_000;

/** A body of up to so many bytes is copied behind its head, so that both are one write and one packet. */
const maxCopiedBytes = 65_536;

/** How long each stage took, in milliseconds; null for one that was not needed or not completed. */
export interface Timings {
  readonly dnsMs: number | null;
  /** With an egress proxy: to it, and by it to the receiver. */
  readonly connectMs: number | null;
  readonly tlsMs: number | null;
  /** From the connection being ready to the status. */
  readonly firstByteMs: number | null;
}

/** How connections are made. */
export interface ConnectOptions {
  /** Resolves the names of targets, and refuses what may not be called. */
  readonly lookup: LookupFunction;
  /** Certificates (PEM) to trust instead of the well-known authorities. */
  readonly ca: string | undefined;
  readonly proxy: EgressProxy | null;
}

/** Who uses a connection at the time. */
export interface User {
  /** It has been made, and a request may be written. */
  ready(): void;
  received(bytes: Buffer): void;
  /** The other side has closed, or the connection broke or was never made. */
  gone(failure: Failure): void;
}

type Mutable<T> = { -readonly [key in keyof T]: T[key] };

export class Connection {
  readonly target: Target;
  /** How it was made; `firstByteMs` is null. */
  readonly timings: Mutable<Timings> = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null };
  /** Who is to be told what happens; null while it is kept for later. */
  user: User | null;
  /** While it is kept: on the clock of `performance.now`. */
  keptUntil = 0;

  readonly #options: ConnectOptions;
  #stage: Stage;
  #stageSince = performance.now();
  /** The one that requests are written to, and the one to the proxy below it. */
  readonly #sockets: Socket[] = [];
  #isOpen = true;

  /** Begins to connect; `user` is told what becomes of it. */
  constructor(target: Target, options: ConnectOptions, user: User) {
    this.target = target;
    this.user = user;
    this.#options = options;
    this.#stage = target.resolved ? "connecting" : "resolving the host name";
    if (options.proxy === null) this.#connect();
    else this.#connectBy(options.proxy);
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  get stage(): Stage {
    return this.#stage;
  }

  /** Whether all that was written has left. */
  get isDrained(): boolean {
    return this.#sockets[0]?.writableLength === 0;
  }

  /** Sends a request. The bytes of the body must not change until it is answered. */
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
    if (socket !== undefined) writeSoon(socket, bytes);
  }

  /** Closes it; its user is not told. */
  destroy(): void {
    this.user = null;
    this.#isOpen = false;
    for (const socket of this.#sockets) socket.destroy();
  }

  #connect(): void {
    const { target } = this;
    const { ca } = this.#options;
    const lookup: LookupFunction = (hostname, options, callback) =>
      this.#options.lookup(hostname, options, (error, ...answer) => {
        if (!error) this.#leaveFor("connecting", "dnsMs");
        callback(error, ...answer);
      });
    const socket = dial({ ...target, lookup, ca });
    this.#watch(socket);
    if (target.encrypted) {
      socket.once("connect", () => this.#leaveFor("agreeing on encryption", "connectMs"));
      socket.once("secureConnect", () => this.#ready("tlsMs"));
    } else {
      socket.once("connect", () => this.#ready("connectMs"));
    }
  }

  /** The proxy is the operator's choice: its address is not judged, and the system resolves its name. */
  #connectBy(proxy: EgressProxy): void {
    const { target } = this;
    const { ca } = this.#options;
    this.#stage = "connecting to the egress proxy";
    const socket = dial({ ...proxy, lookup: undefined, ca });
    this.#watch(socket);
    socket.once(proxy.encrypted ? "secureConnect" : "connect", () => {
      if (!target.encrypted) return this.#ready("connectMs");
      this.#stage = "waiting for the egress proxy";
      openTunnel(socket, proxy, target.authority, (failure) => {
        if (failure !== null) return this.#end(failure);
        this.#leaveFor("agreeing on encryption", "connectMs");
        const tunnelled = tls().connect({ socket, ...trust(target.host, ca) });
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
      // TLS in the tunnel may have closed it, and is about to tell why.
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
      // What comes unasked is no answer to any request.
      if (this.user === null) this.destroy();
      else this.user.received(bytes);
    });
    this.user?.ready();
  }

  #end(failure: Failure): void {
    if (!this.#isOpen) return;
    const { user } = this;
    this.destroy();
    user?.gone(failure);
  }

  #leaveFor(stage: Stage, timing: keyof Timings): void {
    const now = performance.now();
    this.timings[timing] = Math.round((now - this.#stageSince) * 10) / 10;
    this.#stage = stage;
    this.#stageSince = now;
  }
}

/** Where a socket goes. */
interface Dial {
  readonly encrypted: boolean;
  readonly host: string;
  readonly port: number;
  /** undefined: by the system. */
  readonly lookup: LookupFunction | undefined;
  readonly ca: string | undefined;
}

function dial({ encrypted, host, port, lookup, ca }: Dial): Socket {
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
    // RFC 6066, section 3: never an address.
    ...(net().isIP(host) === 0 ? { servername: host } : {}),
    ...(ca === undefined ? {} : { ca }),
    ALPNProtocols: ["http/1.1"],
    rejectUnauthorized: true,
  };
}
