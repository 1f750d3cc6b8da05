import { join } from "node:path";
import type { Bench } from "./bench.ts";
import { BenchError, type Server, startPinnedServer } from "./processes.ts";

export const adminKey = "the-operator-key-of-the-benchmark";

/** The highest limit there is: the limiter does its work, and nobody meets it. */
export const rateLimit = 10_000_000;

/** Resident memory of a server at rest has to stay below that. */
export const mostIdleBytes = 90 * 2 ** 20;

/** On Air as in production, its log included, which goes to /dev/null. */
export interface OnAir extends Server {
  readonly adminUrl: string;
}

/** `onair serve` with the defaults but for rate limit and ports; a public port of 0 is a free one. */
export function serveCommand(executable: string, port: number): string[] {
  const ports = ["--port", String(port), "--admin-port", "0"];
  return [executable, "serve", ...ports, "--rate-limit", String(rateLimit)];
}

export function serveEnvironment(home: string): Record<string, string> {
  return { PATH: process.env.PATH ?? "", HOME: home, ONAIR_ADMIN_KEY: adminKey };
}

interface ServeOptions {
  /** The data directory; `data` in the directory of the benchmark where neither is named. */
  readonly data?: string;
  /** The URL of a PostgreSQL database in its place. */
  readonly database?: string;
  readonly args?: readonly string[];
  /** As `taskset` takes it. */
  readonly cpus?: string;
  /** The file of a certificate in PEM. */
  readonly trusted?: string;
}

/** Starts `onair serve` with the defaults but for ports, rate limit and `args`. */
export async function startOnAir(
  { executable, directory }: Pick<Bench, "executable" | "directory">,
  { data = join(directory, "data"), database, args = [], cpus, trusted }: ServeOptions = {},
): Promise<OnAir> {
  const { server, match } = await startPinnedServer("On Air", [...serveCommand(executable, 0), ...args], {
    ready: /^onair ready public=(\S+) admin=(\S+)$/m,
    cwd: directory,
    env: {
      ...serveEnvironment(directory),
      ...(database === undefined ? { ONAIR_DATA: data } : { ONAIR_DATABASE: database }),
      ...(trusted && { NODE_EXTRA_CA_CERTS: trusted }),
    },
    ...(cpus !== undefined && { cpus }),
  });
  return { ...server, adminUrl: match[2] ?? "" };
}

const rowsAtOnce = 20_000;

/** Sends rows through the admin API; throws when one is refused. */
export async function load(
  { adminUrl }: OnAir,
  kind: "users" | "categories" | "channels" | "livestreams",
  rows: Iterable<object>,
): Promise<void> {
  const route =
    kind === "livestreams"
      ? { method: "PUT", path: "/admin/v1/livestreams" }
      : { method: "POST", path: `/admin/v1/${kind}/batch` };
  const send = async (lines: readonly string[]) => {
    const request = { ...route, type: "application/x-ndjson", body: lines.join("\n") };
    const report = await admin<{ rejected: number }>(adminUrl, request);
    if (report.rejected > 0) throw new BenchError(`On Air refuses ${kind}: ${JSON.stringify(report)}`);
  };
  let lines: string[] = [];
  for (const row of rows) {
    lines.push(JSON.stringify(row));
    if (lines.length < rowsAtOnce) continue;
    await send(lines);
    lines = [];
  }
  if (lines.length > 0) await send(lines);
}

/** An access token of a new application, which has these fields beside its name. */
export async function newToken(onAir: OnAir, fields: object = {}): Promise<string> {
  return (await newApplication(onAir, fields)).token;
}

/** A new application with these fields beside its name; its id, and an access token. */
export async function newApplication(
  { url, adminUrl }: OnAir,
  fields: object,
): Promise<{ id: string; token: string }> {
  const { client_id, client_secret } = await admin<{ client_id: string; client_secret: string }>(adminUrl, {
    method: "POST",
    path: "/admin/v1/applications",
    type: "application/json",
    body: JSON.stringify({ name: "Benchmark", rate_limit: rateLimit, ...fields }),
  });
  const body = new URLSearchParams({ grant_type: "client_credentials", client_id, client_secret });
  const answer = await fetch(`${url}/oauth/token`, { method: "POST", body });
  if (!answer.ok) throw new BenchError(`On Air gives no token: ${await answer.text()}`);
  return { id: client_id, token: ((await answer.json()) as { access_token: string }).access_token };
}

/** Makes applications whose webhooks are at a URL, each subscribed to an event of the broadcaster that is its own. */
export async function subscribers(
  onAir: OnAir,
  count: number,
  { url, event, broadcasterOf }: { url: string; event: string; broadcasterOf: (n: number) => number },
): Promise<void> {
  for (let i = 0; i < count; i++) {
    await subscribe(onAir, await newToken(onAir, { webhook_url: `${url}/hook` }), event, broadcasterOf(i));
  }
}

/** The ids of all applications, a page at a time. */
export async function* applicationPages({ adminUrl }: OnAir): AsyncGenerator<readonly string[]> {
  const headers = { authorization: `Bearer ${adminKey}` };
  for (let cursor: string | null = ""; cursor !== null; ) {
    const path = `/admin/v1/applications?limit=100&cursor=${cursor}`;
    const answer = await fetch(adminUrl + path, { headers });
    const { data, pagination } = (await answer.json()) as {
      readonly data: readonly { readonly id: string }[];
      readonly pagination: { readonly cursor: string; readonly has_more: boolean };
    };
    yield data.map(({ id }) => id);
    cursor = pagination.has_more ? pagination.cursor : null;
  }
}

/** Subscribes the application of a token to an event of a broadcaster; gives the id of the subscription. */
export async function subscribe(
  { url }: OnAir,
  token: string,
  event: string,
  broadcaster: number,
): Promise<string> {
  const answer = await fetch(`${url}/public/v1/events/subscriptions`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ events: [{ name: event, version: 1 }], broadcaster_user_id: broadcaster }),
  });
  if (!answer.ok) throw new BenchError(`On Air makes no subscription: ${await answer.text()}`);
  const { data } = (await answer.json()) as { data: [{ subscription_id: string }] };
  return data[0].subscription_id;
}

async function admin<T>(
  adminUrl: string,
  { method, path, type, body }: { method: string; path: string; type: string; body: string },
): Promise<T> {
  const headers = { authorization: `Bearer ${adminKey}`, "content-type": type };
  const answer = await fetch(adminUrl + path, { method, headers, body });
  if (!answer.ok) throw new BenchError(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}
