import { explainListenError, urlOf } from "../../api/http/server.ts";
import { oauthCodeOf, oauthFields, speaksOAuth } from "../../api/oauth/errors.ts";
import { crossOrigin } from "../../api/public/listener.ts";
import { newId } from "../../domain/ids.ts";
import type { Store } from "../../domain/store.ts";
import { second } from "../../domain/time.ts";
import { secretHash } from "../../domain/tokens.ts";
import { isThisMachineAlone } from "../../runtime/client-address.ts";
import type { ApiFault, FaultPlan } from "./plan.ts";

interface ApiEdgeOptions {
  readonly host: string;
  /** 0 for any. */
  readonly port: number;
  readonly plan: FaultPlan;
  /** Prints a fault. */
  tell(what: string, about: string): void;
}

/** The real server behind the proxy. */
interface BehindEdge {
  /** The public listener. */
  readonly url: string;
  readonly tokens: Store["tokens"];
}

/** A reverse proxy in front of the public listener that injects faults. */
interface ApiEdge {
  readonly url: string;
  /** Sets the real server once it has started. Until then, every answer is 503. */
  connect(behind: BehindEdge): void;
  stop(): Promise<void>;
}

const streamPath = "/public/v1/events/stream";
/** Only API and token requests have faults, not pages, pictures and documents. */
const isConcerned = (path: string) => path.startsWith("/public/v1/") || path === "/oauth/token";
/** Headers that belong to one connection (RFC 9110, section 7.6.1). */
const ofConnection = ["connection", "keep-alive", "transfer-encoding"];

/** Starts the proxy, which forwards requests to the real listener with the faults of the plan. */
export function startApiEdge({ host, port, plan, tell }: ApiEdgeOptions): ApiEdge {
  let behind: BehindEdge | null = null;
  const options = {
    hostname: host,
    port,
    reusePort: false,
    development: false,
    idleTimeout: 0,
    async fetch(request: Request, server: Bun.Server<undefined>): Promise<Response> {
      // The URL of a request without a valid Host is only a path.
      const { pathname, search } = new URL(request.url, "http://localhost");
      if (behind === null) return busy(request, pathname, { status: 503, retryAfterSeconds: 1 });
      const about = `${request.method} ${pathname}`;
      const isCalled = isConcerned(pathname) && request.method !== "OPTIONS";
      const fault = isCalled ? plan.api() : null;
      if (fault?.kind === "busy") {
        tell(`${fault.status}, again in ${fault.retryAfterSeconds} s`, about);
        return busy(request, pathname, fault);
      }
      if (fault?.kind === "slow") {
        tell(`slow by ${fault.ms / second} s`, about);
        await Bun.sleep(fault.ms);
      }
      if (fault?.kind === "revoked" && (await revokeToken(request, behind.tokens)))
        tell("its token is revoked", about);
      const cutAfterMs = pathname === streamPath ? plan.stream() : null;
      const client = server.requestIP(request)?.address ?? "";
      const answer = await passedOn(request, client, behind.url + pathname + search);
      if (cutAfterMs === null || !answer.ok || answer.body === null) return answer;
      const cut = () => tell(`cut off after ${cutAfterMs / second} s`, about);
      return new Response(endedAfter(answer.body, cutAfterMs, cut), answer);
    },
    error: () => new Response(null, { status: 502 }),
  };
  const server = explainListenError(host, port, "--port", () => Bun.serve(options));
  return {
    url: urlOf(host, server.port ?? port),
    connect(real) {
      behind = real;
    },
    stop: () => server.stop(true),
  };
}

async function passedOn(request: Request, client: string, url: string): Promise<Response> {
  const { method, body, signal } = request;
  const headers = new Headers(request.headers);
  // Every forwarded request comes from this machine, to which alone the first page sends secrets.
  if (!isThisMachineAlone(client)) headers.append("x-forwarded-for", client);
  const answer = await fetch(url, {
    method,
    headers,
    body,
    redirect: "manual",
    decompress: false,
    proxy: false,
    timeout: false,
    signal,
  });
  const passed = new Headers(answer.headers);
  for (const name of ofConnection) passed.delete(name);
  return new Response(answer.body, { status: answer.status, headers: passed });
}

/** Returns the stream, ended after a time, possibly within an event. */
function endedAfter(
  stream: ReadableStream<Uint8Array>,
  ms: number,
  ended: () => void,
): ReadableStream<Uint8Array> {
  const reader = stream.getReader();
  let timer: Timer | undefined;
  return new ReadableStream({
    start(controller) {
      timer = setTimeout(() => {
        ended();
        controller.close();
        void reader.cancel();
      }, ms);
    },
    async pull(controller) {
      const { value, done } = await reader.read().catch((error) => {
        clearTimeout(timer);
        throw error;
      });
      if (!done) return controller.enqueue(value);
      clearTimeout(timer);
      // The timer may have closed it meanwhile.
      if (controller.desiredSize !== null) controller.close();
    },
    cancel() {
      clearTimeout(timer);
      return reader.cancel();
    },
  });
}

/** Returns the same answer as the real listener when it is busy. */
function busy(
  request: Request,
  path: string,
  { status, retryAfterSeconds }: Pick<ApiFault & { kind: "busy" }, "status" | "retryAfterSeconds">,
): Response {
  const request_id = newId();
  const code = status === 429 ? "rate_limited" : "unavailable";
  const message = `${status === 429 ? "Too many requests" : "The server is busy"}; try again in ${retryAfterSeconds} seconds`;
  const oauth = speaksOAuth(path) ? oauthFields(oauthCodeOf(code), message) : {};
  const text = JSON.stringify({ ...oauth, message, code, errors: [], request_id });
  return new Response(request.method === "HEAD" ? null : text, {
    status,
    headers: {
      ...crossOrigin,
      "content-type": "application/json",
      "cache-control": "no-store",
      "retry-after": String(retryAfterSeconds),
      "x-request-id": request_id,
    },
  });
}

/** Revokes the token of a request. Returns false when the request has no valid token. */
async function revokeToken({ headers }: Request, tokens: Store["tokens"]): Promise<boolean> {
  const token = /^bearer ([\x21-\x7e]+)$/i.exec(headers.get("authorization") ?? "")?.[1];
  if (token === undefined) return false;
  const hash = secretHash(token);
  const grant = await tokens.find(hash);
  return grant !== null && (await tokens.revoke(hash, grant.applicationId)) === "revoked";
}
