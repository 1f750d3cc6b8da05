import { join } from "node:path";
import { subscriber } from "../../support/publishing.ts";
import { adminKey, ServerClient, type TestApplication } from "../../support/server.ts";
import type { Bench } from "./bench.ts";
import { type Server, startPinnedServer } from "./processes.ts";

/** The highest limit there is: the limiter does its work, and nobody meets it. */
export const rateLimit = 10_000_000;

/** Resident memory of a server at rest has to stay below that. */
export const mostIdleBytes = 90 * 2 ** 20;

/** On Air as in production, its log included, which goes to /dev/null. */
export class OnAir extends ServerClient implements Server {
  readonly name: string;
  readonly url: string;
  readonly pid: number;
  readonly stop: Server["stop"];

  constructor({ name, url, pid, stop }: Server, adminUrl: string) {
    super(url, adminUrl);
    this.name = name;
    this.url = url;
    this.pid = pid;
    this.stop = stop;
  }

  /** An application without a limit of requests that matters. */
  override application(fields: object = {}): Promise<TestApplication> {
    return super.application({ rate_limit: rateLimit, ...fields });
  }
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
  return new OnAir(server, match[2] ?? "");
}

const rowsAtOnce = 20_000;

/** Sends rows through the admin API, some at a time; throws when one is refused. */
export async function load(
  onAir: OnAir,
  kind: Parameters<OnAir["load"]>[0],
  rows: Iterable<object>,
): Promise<void> {
  let some: object[] = [];
  for (const row of rows) {
    some.push(row);
    if (some.length < rowsAtOnce) continue;
    await onAir.load(kind, some);
    some = [];
  }
  if (some.length > 0) await onAir.load(kind, some);
}

/** An access token of a new application. */
export async function newToken(onAir: OnAir, fields: object = {}): Promise<string> {
  return (await onAir.application(fields)).token;
}

/** Makes applications whose webhooks are at a URL, each subscribed to an event of the broadcaster that is its own. */
export async function subscribers(
  onAir: OnAir,
  count: number,
  { url, event, broadcasterOf }: { url: string; event: string; broadcasterOf: (n: number) => number },
): Promise<void> {
  for (let i = 0; i < count; i++)
    await subscriber(onAir, { webhook_url: `${url}/hook`, event, broadcasters: [broadcasterOf(i)] });
}

/** The ids of all applications, a page at a time. */
export async function* applicationPages(onAir: OnAir): AsyncGenerator<readonly string[]> {
  for (let cursor: string | null = ""; cursor !== null; ) {
    const answer = await onAir.admin("GET", `/admin/v1/applications?limit=100&cursor=${cursor}`);
    const { data, pagination } = (await answer.json()) as {
      readonly data: readonly { readonly id: string }[];
      readonly pagination: { readonly cursor: string; readonly has_more: boolean };
    };
    yield data.map(({ id }) => id);
    cursor = pagination.has_more ? pagination.cursor : null;
  }
}
