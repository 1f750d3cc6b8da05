import type { AnyElysia } from "elysia";
import { newId } from "../domain/ids.ts";
import type { Answerer, Later } from "../wire/answerer.ts";
import type { CrowdOptions } from "../wire/crowd.ts";
import type { WireFault } from "../wire/fault.ts";
import type { Head } from "../wire/head.ts";
import { type Reply, readyHead } from "../wire/reply.ts";
import { serveWire } from "../wire/serve.ts";
import { replyError, tryAgainSeconds } from "./errors.ts";
import {
  arrivals,
  beginExchange,
  type Client,
  type Exchange,
  replyOf,
  replyReady,
  type Shared,
  startExchange,
} from "./exchange.ts";
import { type Listening, nothingHere, sharedOf, urlOf } from "./server.ts";

/**
 * Answers a GET in front of the app, or leaves it to it: null. `query` is that of the target, with its question mark,
 * and `begun` what an exchange begins with.
 */
export type ReadyAnswer = (
  path: string,
  query: string,
  begun: Pick<Exchange, "request" | "client" | "shared">,
) => Reply | Response | Later | null;

/** What stands before a path in the URLs that the app is given: the client's `Host` has no say in what it sees. */
const origin = "http://onair.invalid";

/**
 * Serves the public app with HTTP of our own (`wire/`), because what `Bun.serve` spends on `Request`, `Headers`,
 * `Response` and the peer's address is more than Get User and a page of categories cost altogether. Throws when the
 * port is taken.
 */
export function listenPublic(
  app: AnyElysia,
  hostname: string,
  port: number,
  options: { ready?: ReadyAnswer; reusePort?: boolean; crowd?: CrowdOptions } = {},
): Listening {
  const { ready, ...rest } = options;
  const server = serveWire({ hostname, port, answerer: answererOf(app, ready), ...rest });
  return {
    url: urlOf(hostname, server.port),
    port: server.port,
    stop: (graceMs) => server.stop(graceMs),
  };
}

/** Keeps the promise of an answerer: whatever is thrown, by whomever, is logged and answered as `internal_error`. */
export function answererOf(app: AnyElysia, ready: ReadyAnswer | undefined): Answerer {
  const { fetch } = app.compile();
  const shared = sharedOf(app);
  const fromApp = async (head: Head, body: Uint8Array<ArrayBuffer> | null, client: Client) => {
    const request = requestOf(head, body);
    arrivals.set(request, { method: head.method, client });
    if (isRewritten(head.target)) return replyError(startExchange(request, shared), nothingHere);
    return fetch(request);
  };
  const failed = ({ method, target, fields }: Head, client: Client, error: unknown) => {
    const path = URL.parse(origin + target)?.pathname ?? "";
    const exchange = beginExchange({ request: { headers: fields }, method, path, client, shared });
    return replyOf(replyError(exchange, error));
  };
  const readyFor = ({ method, target, fields }: Head, client: Client) => {
    if (method !== "GET" || !ready) return null;
    const queryAt = target.indexOf("?");
    const path = queryAt === -1 ? target : target.slice(0, queryAt);
    const query = queryAt === -1 ? "" : target.slice(queryAt);
    return ready(path, query, { request: { headers: fields }, client, shared });
  };
  const toReply = async (answer: Response | Promise<Response>) => replyOf(await answer);
  const later =
    (reply: Promise<Reply>): Later =>
    (send) =>
      void reply.then(send);
  return {
    answer(head, body, client) {
      try {
        const answer = readyFor(head, client);
        if (answer !== null && !(answer instanceof Response)) return answer;
        const reply = toReply(answer ?? fromApp(head, body, client));
        return later(reply.catch((error) => failed(head, client, error)));
      } catch (error) {
        return later(failed(head, client, error));
      }
    },
    refuse(fault, client) {
      return refusal(fault, client, shared);
    },
    turnAway() {
      return noPlace(shared);
    },
  };
}

/**
 * Whether a URL makes another path of a target: whoever stands in front and decides by the path has to see the same
 * one. In a query a backslash is nothing else.
 */
function isRewritten(target: string): boolean {
  return /^[^?]*(?:\\|\/(?:\.|%2e){1,2}(?:[/?]|$))/i.test(target);
}

function requestOf({ method, target, fields }: Head, body: Uint8Array<ArrayBuffer> | null): Request {
  const headers = new Headers();
  for (let i = 0; i < fields.entries.length; i += 2) {
    const name = fields.entries[i] ?? "";
    if (name !== "transfer-encoding") headers.append(name, fields.entries[i + 1] ?? "");
  }
  if (method === "GET" || method === "HEAD") return new Request(origin + target, { headers });
  return new Request(origin + target, { method, headers, body });
}

const nobody = { headers: { get: () => null } };

/** What cannot be read is answered in the one shape of all errors, too. */
function refusal({ status, code, message }: WireFault, client: Client, shared: Shared): Reply {
  const exchange = beginExchange({ request: nobody, method: "", path: "", client, shared });
  const error = { message, code, errors: [], request_id: exchange.requestId };
  return replyReady(exchange, readyHead(status, shared.commonLines), Buffer.from(JSON.stringify(error)));
}

/** Nobody has asked for anything yet, so it is no request: those who are told so are counted, and have no log line. */
function noPlace({ commonLines }: Shared): Reply {
  const request_id = newId();
  const message = "Too many connections are open; try again soon";
  const body = Buffer.from(JSON.stringify({ message, code: "unavailable", errors: [], request_id }));
  const head = `${commonLines}x-request-id: ${request_id}\r\nretry-after: ${tryAgainSeconds}\r\n`;
  return { status: 503, head, body };
}
