import { lstatSync } from "node:fs";
import { join } from "node:path";
import { backupProgram } from "../app.ts";
import { Backups } from "../backups/backups.ts";
import { platformData } from "../batch/platform-data.ts";
import { isLoopback } from "../doctor/ask.ts";
import { catalogueOf } from "../domain/events/registered.ts";
import { newSecret } from "../domain/tokens.ts";
import { idleEngine } from "../engine/idle.ts";
import { cursorKeyOf } from "../engine/setting.ts";
import { adminApp } from "../http/admin/app.ts";
import { OperatorKeys } from "../http/admin/operator-keys.ts";
import { Cursors } from "../http/cursors.ts";
import { Traffic } from "../http/traffic.ts";
import { createLog, type Log } from "../log.ts";
import { Ranking } from "../ranking/ranking.ts";
import { createPublisher } from "../webhooks/publisher.ts";
import { UsageError } from "./command.ts";
import { addressOf, type Target } from "./target.ts";

export interface Sent {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  readonly path: string;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as NDJSON. */
  readonly lines?: ReadableStream<Uint8Array>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The admin API of a target: the same routes, whether over HTTP or in this process. */
export interface AdminApi {
  /** The answer, which is a good one; else an error is thrown that says what the API said. */
  send(request: Sent): Promise<Response>;
}

/** Opens the admin API of a target for `work`. Throws where it cannot be had, or there is no such data. */
export async function withAdminApi<T>(target: Target, work: (api: AdminApi) => Promise<T>): Promise<T> {
  const { server } = target;
  if (server) {
    const base = server.url.origin + server.url.pathname.replace(/\/+$/, "");
    // What is meant for this machine goes to no proxy of the environment, which would see the key.
    const direct = isLoopback(server.url.hostname) ? { proxy: false as const } : {};
    const overHttp = (request: Request) => fetch(request, { redirect: "manual", timeout: false, ...direct });
    return work(adminApi(target, base, server.key, overHttp));
  }
  // A link that leads nowhere is there, too, and nothing to begin anew beside.
  if (!lstatSync(join(target.data, "onair.db"), { throwIfNoEntry: false })) {
    throw new UsageError(
      `There is no data in ${target.data}; name its directory with --data, or a server with --url`,
    );
  }
  const engine = idleEngine(target.data);
  const { store } = engine;
  const { data, keepBackups: keep } = target;
  const faults = new Faults();
  const log = faults.log;
  const backups = new Backups({ data, keep, program: backupProgram, now: Date.now, log });
  try {
    const key = newSecret("onair_admin_");
    const operatorKeys = new OperatorKeys({ store, now: Date.now, own: key });
    await operatorKeys.load();
    const catalogue = await catalogueOf(await store.eventTypes.all());
    const app = adminApp({
      store,
      engine,
      data: platformData({ store, ranking: new Ranking(Date.now), now: Date.now }),
      publisher: createPublisher(engine, { now: Date.now, catalogue }),
      backups,
      catalogue,
      cursors: new Cursors(await cursorKeyOf(store)),
      log,
      now: Date.now,
      operatorKeys,
      allowPrivateWebhooks: target.allowPrivateWebhooks,
      whyNotReady: async () => null,
      publicTraffic: new Traffic(),
      publicUrl: () => inProcess,
      adminUrl: () => inProcess,
    });
    const { fetch: answer } = app.compile();
    return await work(adminApi(target, inProcess, key, async (request) => answer(request), faults));
  } finally {
    backups.stop();
    await engine.stop(0);
  }
}

const inProcess = "http://in-process.invalid";

/** Instead of a log: what an internal error was, which an answer does not tell, is told to whoever runs the command. */
class Faults {
  last: string | null = null;
  readonly log: Log = {
    ...createLog("off"),
    error: (_, { error }: Record<string, unknown> = {}) => {
      this.last = String(error).replace(/^StoreError: /, "");
    },
  };
}

function adminApi(
  target: Target,
  base: string,
  key: string,
  fetched: (request: Request) => Promise<Response>,
  faults?: Faults,
): AdminApi {
  return {
    async send({ method, path, json, lines, headers }) {
      const type = lines ? "application/x-ndjson" : "application/json";
      const body = lines ?? (json === undefined ? null : JSON.stringify(json));
      const request = new Request(base + path, {
        method,
        headers: {
          ...headers,
          authorization: `Bearer ${key}`,
          ...(body !== null && { "content-type": type }),
        },
        body,
      });
      const response = await fetched(request).catch((error) => {
        const code = error instanceof Error && "code" in error ? error.code : error;
        throw new Error(`${addressOf(target)} cannot be reached (${code}). Is the server running?`);
      });
      if (response.ok) return response;
      throw new Error((response.status === 500 && faults?.last) || (await complaint(target, response)));
    },
  };
}

/** What an answer that is not a good one says, for people. */
async function complaint({ server }: Target, response: Response): Promise<string> {
  const text = await response.text();
  const answer = jsonOf(text) as {
    message?: unknown;
    code?: unknown;
    errors?: { field: string; message: string }[];
  } | null;
  const fields = (answer?.errors ?? []).map(({ field, message }) => `${field} ${message}`);
  const message = fields.length > 0 ? fields.join("\n") : String(answer?.message ?? text.slice(0, 200));
  if (!server) return message;
  const elsewhere = response.status === 404 && answer?.message === "There is nothing at this path";
  const hint = elsewhere ? " --url must name the admin listener." : "";
  return `${server.url.origin} answered ${response.status}: ${message}${hint}`;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
