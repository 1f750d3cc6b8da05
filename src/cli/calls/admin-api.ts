import { AuditTrail } from "../../api/admin/audit-trail.ts";
import { OperatorKeys } from "../../api/admin/operator-keys.ts";
import { adminApp } from "../../api/admin.ts";
import { rateLimiter } from "../../api/http/access.ts";
import { Traffic } from "../../api/http/context.ts";
import { Cursors } from "../../api/http/cursors.ts";
import { LoginChallenges } from "../../api/http/seal.ts";
import { OutcomeStreams } from "../../api/stream/outcome-streams.ts";
import { errorOf, OnairError } from "../../client/http.ts";
import { idleEngine } from "../../delivery/idle.ts";
import { catalogueOf } from "../../domain/events/registered.ts";
import { dataIdOf, heldSetting, sealingKeyOf } from "../../domain/store.ts";
import { subscriptionLimits } from "../../domain/subscriptions.ts";
import { newSecret } from "../../domain/tokens.ts";
import { backupsElsewhere, openBackups } from "../../operations/backups/open-backups.ts";
import { platformData } from "../../platform/platform-data.ts";
import { createPublisher } from "../../platform/publisher.ts";
import { Ranking } from "../../platform/ranking.ts";
import { createLog, type Log } from "../../runtime/log.ts";
import { backupProgram } from "../../thread-programs.ts";
import { adminRefusal, request } from "./http.ts";
import { requireData, type Target } from "./target.ts";

interface Sent {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as NDJSON. */
  readonly lines?: AsyncIterable<Uint8Array>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Fields of a query or body; the server checks them. */
export type Fields = Readonly<Record<string, string | number | boolean | undefined>>;

/** The admin API of a target, over HTTP or in this process. */
export interface AdminApi {
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
  const { server } = target;
  if (server) {
    const base = server.url.origin + server.url.pathname.replace(/\/+$/, "");
    const { cert, key } = server.certificate ?? {};
    const fetched: typeof request = (url, init) =>
      request(url, { ...init, ...(cert && key && { tls: { cert, key } }) });
    return work(adminApi(server.url.origin, base, server.key, fetched));
  }
  const { location } = target;
  await requireData(location);
  const engine = await idleEngine(location);
  const { store } = engine;
  const faults = new Faults();
  const log = faults.log;
  const backups =
    "directory" in location
      ? await openBackups(location.directory, target.backups, {
          dataId: () => dataIdOf(store),
          isHeld: async () => Boolean(await store.settings.get(heldSetting)),
          program: backupProgram,
          now: Date.now,
          log,
          aws: target.aws,
        })
      : backupsElsewhere;
  try {
    const key = newSecret("onair_admin_");
    const operatorKeys = new OperatorKeys({ store, now: Date.now, own: key });
    await operatorKeys.load();
    const trail = new AuditTrail({ store, log, now: Date.now });
    const catalogue = await catalogueOf(await store.eventTypes.all());
    const sealingKey = await sealingKeyOf(store);
    const app = adminApp({
      store,
      engine,
      data: platformData({ store, ranking: new Ranking(Date.now), now: Date.now }),
      publisher: createPublisher(engine, { now: Date.now, catalogue }),
      backups,
      catalogue,
      cursors: new Cursors(sealingKey),
      challenges: new LoginChallenges(sealingKey),
      log,
      now: Date.now,
      operatorKeys,
      outcomes: new OutcomeStreams(engine),
      facts: {
        settings: [],
        startedAt: Date.now(),
        subscriptionLimit: subscriptionLimits.defaultPerApplication,
        rateLimit: () => null,
        storage: () => null,
        kindSizes: async () => null,
        watched: null,
      },
      findings: async () => [],
      trail,
      allowPrivateWebhooks: target.allowPrivateWebhooks,
      whyNotReady: async () => null,
      limiter: rateLimiter(Date.now),
      traffic: { public: new Traffic(), admin: new Traffic() },
      publicUrl: () => inProcess,
      adminUrl: () => inProcess,
    });
    const { fetch: answer } = app.compile();
    const fetched = async (url: string, init: BunFetchRequestInit) => answer(new Request(url, init));
    const result = await work(adminApi(null, inProcess, key, fetched, faults));
    await trail.flush();
    return result;
  } finally {
    backups.stop();
    await engine.stop(0);
  }
}

const inProcess = "http://in-process.invalid";

/** A log that keeps the last internal error, because an error answer does not describe it. */
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
      const response = await fetched(base + path, {
        method,
        headers: {
          ...headers,
          authorization: `Bearer ${key}`,
          ...(body !== null && { "content-type": type }),
        },
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
