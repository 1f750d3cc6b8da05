/** The connections that webhooks are sent over: guarded when they are made, kept for the next delivery. */

import http from "node:http";
import https from "node:https";
import { isIP, type Socket } from "node:net";
import { bareHost, guardedLookup, type Resolve } from "./address.ts";
import type { Stage } from "./outcome.ts";

/**
 * How long an unused connection is kept. Less than common servers keep it (Node.js: 5 s), so that
 * they seldom close one that is just being used again. Their `Keep-Alive: timeout` shortens it.
 */
const idleMs = 4_000;

/** Unused connections kept per host and port; those beyond are closed. */
const maxIdlePerHost = 64;

/**
 * Of several addresses of a host, the next is tried when one has not answered for so long. The
 * default, 250 ms, gives up on receivers at the other end of the world.
 */
const connectAttemptMs = 1_000;

/** Where a webhook URL leads, in the terms of `http.request`. */
export interface Target {
  readonly protocol: string;
  readonly host: string;
  readonly port: string;
  readonly path: string;
  /** Whether the host is an address, so that nothing has to be resolved. */
  readonly resolved: boolean;
}

/** @param url one that `checkWebhookUrl` has accepted */
export function targetOf(url: URL): Target {
  const host = bareHost(url);
  const path = url.pathname + url.search;
  return { protocol: url.protocol, host, port: url.port, path, resolved: isIP(host) !== 0 };
}

/** Agents for every kind of connection. */
export interface Connections {
  /**
   * The agent for a protocol. With `reuse`, it takes a kept connection if there is one, and keeps it
   * afterwards; without, it makes a new one for this request alone.
   */
  agent(protocol: string, reuse: boolean): http.Agent;
  /** Closes all connections, used or not. */
  close(): void;
}

/**
 * @param options.resolve instead of the system's resolver
 * @param options.ca certificates (PEM) to trust instead of the well-known authorities
 */
export function openConnections(options: {
  readonly allowPrivate: boolean;
  readonly resolve?: Resolve | undefined;
  readonly ca?: string | undefined;
}): Connections {
  const { allowPrivate, resolve, ca } = options;
  const connect = {
    lookup: guardedLookup({ allowPrivate }, resolve),
    autoSelectFamilyAttemptTimeout: connectAttemptMs,
  };
  const keep = { ...connect, keepAlive: true, timeout: idleMs, maxFreeSockets: maxIdlePerHost };
  const trust = ca === undefined ? {} : { ca };
  const kept = { http: new http.Agent(keep), https: new https.Agent({ ...keep, ...trust }) };
  const single = { http: new http.Agent(connect), https: new https.Agent({ ...connect, ...trust }) };

  return {
    agent(protocol, reuse) {
      const agents = reuse ? kept : single;
      return protocol === "https:" ? agents.https : agents.http;
    },
    close() {
      for (const agent of [kept.http, kept.https, single.http, single.https]) agent.destroy();
    },
  };
}

/** How long each stage took, in milliseconds; null for one that was not needed or not completed. */
export interface Timings {
  readonly dnsMs: number | null;
  readonly connectMs: number | null;
  readonly tlsMs: number | null;
  /** From the connection being ready to the status. */
  readonly firstByteMs: number | null;
}

/**
 * Bytes taken from a receiver before its status. The parser's own limit counts the names and values
 * of the last header block only: neither blank lines before it nor 1xx answers, of which there may be
 * any number.
 */
const maxBytesBeforeStatus = 65_536;

type Mutable<T> = { -readonly [key in keyof T]: T[key] };

/** Follows one request through the stages of its connection. */
export class Progress {
  #stage: Stage;
  #stageSince = performance.now();
  readonly #timings: Mutable<Timings> = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null };
  #socket: Socket | null = null;
  #bytesBefore = 0;
  #answered = false;
  readonly #encrypted: boolean;
  readonly #count: (chunk: Uint8Array) => void;

  /** @param flooded called when too much has come and no status */
  constructor(target: Target, flooded: () => void) {
    this.#encrypted = target.protocol === "https:";
    let received = 0;
    this.#count = (chunk) => {
      received += chunk.length;
      // Also called for the very chunk that holds the status, and then some.
      if (received > maxBytesBeforeStatus && !this.#answered) flooded();
    };
    this.#stage = target.resolved ? "connecting" : "resolving the host name";
  }

  get stage(): Stage {
    return this.#stage;
  }

  get timings(): Timings {
    return this.#timings;
  }

  /** Whether no byte of an answer has come. */
  get silent(): boolean {
    return this.#socket === null || this.#socket.bytesRead === this.#bytesBefore;
  }

  /** To be called as soon as the request has its socket, which may be a connected one. */
  connecting(socket: Socket, reused: boolean): void {
    this.#socket = socket;
    this.#bytesBefore = socket.bytesRead;
    socket.on("data", this.#count);
    if (reused) {
      this.#enter("waiting for the answer");
      return;
    }
    socket.once("lookup", (error: Error | null) => {
      if (!error) this.#leaveFor("connecting", "dnsMs");
    });
    socket.once("connect", () => {
      this.#leaveFor(this.#encrypted ? "agreeing on encryption" : "waiting for the answer", "connectMs");
    });
    socket.once("secureConnect", () => this.#leaveFor("waiting for the answer", "tlsMs"));
  }

  /** To be called when the status has come. */
  answered(): void {
    this.#answered = true;
    this.#socket?.off("data", this.#count);
    this.#record("firstByteMs");
  }

  #leaveFor(stage: Stage, timing: keyof Timings): void {
    this.#record(timing);
    this.#enter(stage);
  }

  #enter(stage: Stage): void {
    this.#stage = stage;
    this.#stageSince = performance.now();
  }

  #record(timing: keyof Timings): void {
    const elapsed = performance.now() - this.#stageSince;
    this.#timings[timing] = Math.round(elapsed * 10) / 10;
  }
}
