import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Deprecation } from "../../src/domain/deprecations.ts";
import type { Store } from "../../src/domain/store.ts";
import type { AwsVariables } from "../../src/operations/backups/destination.ts";
import { createLog, type Log } from "../../src/runtime/log.ts";
import { checkConfig, sound } from "../../src/server/settings/read-config.ts";
import { type App, startApp } from "../../src/server/start.ts";
import { openStore } from "../../src/store/sqlite/store.ts";
import type { WelcomeSource } from "../../src/web/session.ts";
import { afterTests, afterThisTest } from "./after-tests.ts";

/** The path of a migrated, empty database. It is made once, because migrating is a large part of a server's start. */
let database: Uint8Array | null = null;

function made(): Uint8Array {
  const directory = mkdtempSync(join(tmpdir(), "onair-test-"));
  const store = openStore(directory);
  // The file can be read at once: a new database is complete on disk before it is renamed to this name.
  const bytes = readFileSync(join(directory, "onair.db"));
  void store.close().then(() => rmSync(directory, { recursive: true }));
  return bytes;
}

/** Copies it into an empty data directory. */
export function giveTables(directory: string): void {
  if (!existsSync(directory) || readdirSync(directory).length > 0) return;
  database ??= made();
  writeFileSync(join(directory, "onair.db"), database, { mode: 0o600 });
}

/* Rows of platform data for the batch routes. */

export const user = (id: number, username = `user_${id}`, more: object = {}) => ({ id, username, ...more });

export const category = (id: number, name = `Category ${id}`, more: object = {}) => {
  return { id, name, slug: name.toLowerCase().replaceAll(" ", "-"), ...more };
};

export const channel = (id: number, slug = `channel-${id}`, user_id = id, more: object = {}) => {
  return { id, user_id, slug, ...more };
};

export const live = (channel_id: number, category_id: number, viewers: number, more: object = {}) => {
  return { channel_id, category_id, viewers, ...more };
};

/** One line per row; a string becomes a line unchanged. */
export const ndjson = (rows: readonly unknown[]) =>
  rows.map((row) => (typeof row === "string" ? row : JSON.stringify(row))).join("\n");

export const adminKey = "test-operator-key";

/** A clock that only moves when a test moves it. */
export class Clock {
  constructor(public ms = Date.parse("2026-01-14T16:00:00.000Z")) {}
  readonly now = () => this.ms;
  advance(ms: number): void {
    this.ms += ms;
  }
}

/** A directory that `using` removes at the end of its block. */
export function temporaryDirectory(): { readonly path: string; remove(): void } & Disposable {
  const path = mkdtempSync(join(tmpdir(), "onair-test-"));
  const remove = () => rmSync(path, { recursive: true, force: true });
  return { path, remove, [Symbol.dispose]: remove };
}

/** At the top of a file: a directory that is removed after its tests. */
export function testDirectory(): string {
  const { path, remove } = temporaryDirectory();
  afterTests(remove);
  return path;
}

/** The body of an answer, typed as the test expects it. */
export async function json<T>(response: Response): Promise<T> {
  return (await response.json()) as T;
}

/** The status and the code of a refusal. */
export async function refusal(
  response: Response | Promise<Response>,
): Promise<[status: number, code: string]> {
  const { code } = await json<{ code: string }>(await response);
  return [(await response).status, code];
}

export interface TestServerOptions {
  /** Arguments of `onair serve` beside the data directory and the ports. */
  readonly args?: readonly string[];
  /** An existing data directory, kept when the server stops. */
  readonly data?: string;
  /** Use SQLite even when the tests run on PostgreSQL. */
  readonly isOnSqlite?: boolean;
  readonly clock?: Clock | undefined;
  /** Together with `clock`, if the two are to differ. */
  readonly monotonic?: Clock;
  /** By default a log of no lines. */
  readonly log?: Log;
  /** The test makes internal errors. In any other test, one that is logged fails it. */
  readonly hasInternalErrors?: boolean;
  /** undefined unsets a variable that tests have by default. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The credentials of S3. */
  readonly aws?: AwsVariables;
  /** Wrong operator keys per minute from one address; unlimited by default. */
  readonly wrongKeyLimit?: number;
  /**
   * Run the engine in its own thread, as `onair serve` does. This makes the start slower. Ignored with `clock`.
   */
  readonly engineThread?: boolean;
  /** Called with the store before the server listens. */
  readonly prepare?: (store: Store) => Promise<void>;
  /** The front page of the public listener, as in `onair dev`. */
  readonly welcome?: WelcomeSource;
  /** In place of what this version deprecates. */
  readonly deprecations?: readonly Deprecation[];
  /** Users to store once the server runs. */
  readonly users?: readonly object[];
}

/** In a test: a server that is stopped after it. */
export async function ownServer(options: TestServerOptions = {}): Promise<TestServer> {
  const server = await startServer(options);
  afterThisTest(() => server.stop());
  return server;
}

/** In a test: a directory that is removed after it. */
export function ownDirectory(): string {
  const { path, remove } = temporaryDirectory();
  afterThisTest(remove);
  return path;
}

/** At the top of a file: a server that is stopped after its tests. */
export async function testServer(options: TestServerOptions = {}): Promise<TestServer> {
  const server = await startServer(options);
  afterTests(() => server.stop());
  return server;
}

/**
 * A real server on free ports of loopback with a real data directory, in this process. Outside of tests `await using`
 * stops it.
 */
export async function startServer({
  args = [],
  data,
  isOnSqlite = !isOnPostgres,
  clock,
  monotonic,
  log = createLog("off"),
  hasInternalErrors = false,
  env,
  aws = {},
  wrongKeyLimit = 0,
  engineThread = false,
  prepare,
  welcome,
  deprecations,
  users,
}: TestServerOptions = {}): Promise<TestServer> {
  const directory = data === undefined ? temporaryDirectory() : { path: data, remove() {} };
  if (isOnSqlite) giveTables(directory.path);
  try {
    const { config, secretFiles } = sound(
      checkConfig(
        ["--port", "0", "--admin-port", "0", "--log-level", "off", ...args],
        {
          ONAIR_ADMIN_KEY: adminKey,
          ONAIR_ALLOW_PRIVATE_WEBHOOKS: "true",
          ...(isOnSqlite ? { ONAIR_DATA: directory.path } : await databaseVariables(directory.path)),
          ...env,
        },
        { rateLimit: "0" },
      ),
    );
    const app = await startApp({
      config,
      log,
      secretFiles,
      aws,
      wrongKeyLimit,
      prepare,
      welcome,
      deprecations,
      // Short, because tests wait until results are recorded.
      times: { gatherMs: 5 },
      // Where a clock is given, the engine runs in this thread.
      ...(!engineThread && { now: Date.now, monotonic: performance.now.bind(performance) }),
      ...(clock && { now: clock.now, monotonic: monotonic?.now, random: () => 0.5 }),
    });
    const server = new TestServer(app, directory.remove, directory.path, log, hasInternalErrors);
    if (users)
      await server.load("users", users).catch((error) => server.stop().then(() => Promise.reject(error)));
    return server;
  } catch (error) {
    directory.remove();
    throw error;
  }
}

/** True when test servers use PostgreSQL. Tests that read the SQLite file are then skipped. */
export const isOnPostgres = process.env["ONAIR_TEST_DATABASE"] !== undefined;

/** The settings for the database used in place of a data directory. */
async function databaseVariables(directory: string): Promise<Record<string, string>> {
  const { databaseFor } = await import("./postgres.ts");
  return { ONAIR_DATABASE: await databaseFor(directory), ONAIR_DATABASE_CONNECTIONS: "6" };
}

/** Sends requests to the two listeners of a server. */
export class ServerClient {
  constructor(
    readonly publicUrl: string,
    readonly adminUrl: string,
  ) {}

  /** A request to the public listener; `token` is sent as a bearer token. */
  get(path: string, token?: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    if (token) headers.set("authorization", `Bearer ${token}`);
    return fetch(this.publicUrl + path, { redirect: "manual", ...init, headers });
  }

  /** A request to the public listener, with a JSON body if `body` is given. */
  send(method: string, path: string, body?: unknown, token?: string): Promise<Response> {
    if (body === undefined) return this.get(path, token, { method });
    const headers = { "content-type": "application/json" };
    return this.get(path, token, { method, body: JSON.stringify(body), headers });
  }

  post(path: string, body: unknown, token?: string): Promise<Response> {
    return this.send("POST", path, body, token);
  }

  /** A request to the admin listener with the operator key. */
  admin(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Response> {
    const text = typeof body === "string" || body === undefined ? body : JSON.stringify(body);
    const type = typeof body === "string" ? "application/x-ndjson" : "application/json";
    return fetch(this.adminUrl + path, {
      method,
      headers: { authorization: `Bearer ${adminKey}`, "content-type": type, ...headers },
      ...(text !== undefined && { body: text }),
    });
  }

  /** Sends rows to a batch route of the admin API. Throws if one is refused. */
  async load(
    kind: "users" | "categories" | "channels" | "livestreams",
    rows: readonly object[],
  ): Promise<void> {
    const [method, path] = kind === "livestreams" ? ["PUT", kind] : ["POST", `${kind}/batch`];
    const response = await this.admin(method, `/admin/v1/${path}`, ndjson(rows));
    const report = await json<{ rejected: number }>(response);
    if (report.rejected !== 0) throw new Error(`refused: ${JSON.stringify(report)}`);
  }

  /**
   * Creates an application with an access token for all its scopes. A public one has neither token nor secret: both are
   * "".
   */
  async application(fields: object = {}): Promise<TestApplication> {
    const created = await this.admin("POST", "/admin/v1/applications", { name: "Test", ...fields });
    if (created.status !== 201) throw new Error(await created.text());
    const { id, client_id, client_secret, webhook_secret } =
      await json<Omit<TestApplication, "token">>(created);
    if (client_secret === null) return { id, client_id, client_secret: "", webhook_secret, token: "" };
    const body = new URLSearchParams({ grant_type: "client_credentials", client_id, client_secret });
    const answer = await this.get("/oauth/token", undefined, { method: "POST", body });
    const { access_token } = await json<{ access_token: string }>(answer);
    return { id, client_id, client_secret, webhook_secret, token: access_token };
  }
}

/** Errors in the log that no input, fault or load explains. */
export const alwaysBugs = ["internal_error", "result_refused", "endpoint_state_refused"] as const;

/** A server in this process. */
export class TestServer extends ServerClient implements AsyncDisposable {
  constructor(
    readonly app: App,
    readonly removeData: () => void,
    /** The data directory. */
    readonly data: string,
    readonly log: Log,
    readonly hasInternalErrors: boolean,
  ) {
    super(app.publicUrl, app.adminUrl);
  }

  /** May be called more than once. Throws if the server had a bug: a result that cannot be stored, or an internal error. */
  stop(): Promise<void> {
    this.#stopped ??= this.app
      .stop()
      .then(this.removeData)
      .then(() => {
        const isMade = (event: string) => this.hasInternalErrors && event === "internal_error";
        const bugs = alwaysBugs.filter((event) => this.log.errors[event] > 0 && !isMade(event));
        if (bugs.length > 0) throw new Error(`The server logged ${bugs.join(" and ")}`);
      });
    return this.#stopped;
  }
  #stopped: Promise<void> | undefined;

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

export interface TestApplication {
  readonly id: string;
  readonly client_id: string;
  readonly client_secret: string;
  readonly webhook_secret: string;
  readonly token: string;
}
