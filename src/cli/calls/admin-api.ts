import { errorOf, OnairError } from "../../client/http.ts";
import { second } from "../../domain/time.ts";
import { createLog, type Log } from "../../runtime/log.ts";
import { openAdminOnData } from "../../server/admin.ts";
import { storageAt } from "../../server/storage-at.ts";
import { UsageError } from "../command.ts";
import { note } from "../output/print.ts";
import { adminRefusal, request } from "./http.ts";
import { adviseUrl, requireData, type Target } from "./target.ts";

interface Sent {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  /** The body, sent as JSON. */
  readonly json?: unknown;
  /** The lines of the body, sent as NDJSON. */
  readonly lines?: AsyncIterable<Uint8Array>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Fields of a query or body; the server checks them. */
export type Fields = Readonly<Record<string, string | number | boolean | undefined>>;

/** The admin API of a target, over HTTP or in this process. */
export interface AdminApi {
  /** Sends a request with the operator key, and returns error answers unchanged. */
  fetch(path: string, init: BunFetchRequestInit & { readonly headers: Headers }): Promise<Response>;
  /** Sends a request. Throws an `OnairError` for an error answer; its message says what to do. */
  send(request: Sent): Promise<Response>;
  /** Sends a request and parses the answer as JSON. */
  json<T>(request: Sent): Promise<T>;
  /** Sends a GET request with the defined fields of `query`, and parses the answer as JSON. */
  get<T>(path: string, query?: Fields): Promise<T>;
}

/**
 * Opens the admin API of a target for `work`. Throws when the server cannot be reached, or there is no data.
 */
export async function withAdminApi<T>(target: Target, work: (api: AdminApi) => Promise<T>): Promise<T> {
  const server = target.server ?? (await serverOfDev(target));
  if (server) {
    const base = server.url.origin + server.url.pathname.replace(/\/+$/, "");
    const { cert, key } = server.certificate ?? {};
    const fetched: typeof request = (url, init) =>
      request(url, { ...init, ...(cert && key && { tls: { cert, key } }) });
    return work(adminApi(server.url.origin, base, server.key, fetched));
  }
  const { location, dev, backups, aws, allowPrivateWebhooks } = target;
  await requireData(location, dev && `; "onair dev" is not running at ${dev.url.origin}`);
  const faults = new Faults();
  const { log } = faults;
  const options = { location, backups, aws, allowPrivateWebhooks, log };
  const onData = await openAdminOnData(options).catch(adviseUrl);
  try {
    return await work(adminApi(null, onData.origin, onData.key, onData.fetch, faults));
  } finally {
    await onData.close();
  }
}

/** Whether the admin API of a target is that of a server. A server that is named may be unreachable. */
export async function isServed(target: Target): Promise<boolean> {
  return target.server !== null || (await runningDev(target)) !== null;
}

const devTimeoutMs = second;

/** Returns the server of `onair dev` for a command that names nothing, where there is no data; null unless it runs. */
async function runningDev({ dev, location }: Target): Promise<Target["dev"]> {
  if (dev === null || (await (await storageAt(location)).hasData())) return null;
  // Another program may use the port since. Every answer of On Air has a request id.
  const isUp = await request(`${dev.url.origin}/healthz`, {}, devTimeoutMs).then(
    ({ ok, headers }) => ok && headers.has("x-request-id"),
    () => false,
  );
  return isUp ? dev : null;
}

async function serverOfDev(target: Target): Promise<Target["server"]> {
  const dev = await runningDev(target);
  if (dev === null) return null;
  const { url, key } = dev;
  if (key === null)
    throw new UsageError(
      `No server or data is named, and ONAIR_ADMIN_KEY is not the key of "onair dev" at ${url.origin}: unset it to use that platform, or name another server with --url`,
    );
  note(`Using "onair dev" at ${url.origin}, because no server or data is named`);
  return { url, key, certificate: null };
}

/** A log that keeps the last internal error, because an error answer does not describe internal errors. */
class Faults {
  last: string | null = null;
  readonly log: Log = {
    ...createLog("off"),
    failure: (_, error) => {
      this.last = String(error).replace(/^StoreError: /, "");
    },
  };
}

/** @param origin of the server; null for an app in this process */
function adminApi(
  origin: string | null,
  base: string,
  key: string,
  fetched: (url: string, init: BunFetchRequestInit) => Promise<Response>,
  faults?: Faults,
): AdminApi {
  const api: AdminApi = {
    fetch: (path, { headers, ...init }) => {
      headers.set("authorization", `Bearer ${key}`);
      return fetched(base + path, { ...init, headers });
    },
    json: async <T>(request: Sent) => (await (await api.send(request)).json()) as T,
    get: (path, query = {}) => {
      const search = new URLSearchParams();
      for (const [name, value] of Object.entries(query))
        if (value !== undefined) search.set(name, String(value));
      return api.json({ method: "GET", path: search.size === 0 ? path : `${path}?${search}` });
    },
    async send({ method, path, json, lines, headers }) {
      const type = lines ? "application/x-ndjson" : "application/json";
      const body = lines ?? (json === undefined ? null : JSON.stringify(json));
      const response = await api.fetch(path, {
        method,
        headers: new Headers({ ...headers, ...(body !== null && { "content-type": type }) }),
        body,
      });
      // Every answer of On Air has this header.
      if (response.ok && response.headers.has("x-request-id")) return response;
      if (response.ok) throw new Error(`${origin} is not the admin listener of an On Air server`);
      const error = await errorOf(response);
      const fault = error.status === 500 ? faults?.last : null;
      throw new OnairError(fault ?? adminRefusal(error, origin), error.details);
    },
  };
  return api;
}
