import { Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { crossOrigin } from "../../../src/api/public/listener.ts";
import { secretHash } from "../../../src/domain/tokens.ts";
import { rateLimit } from "../support/onair.ts";
import { copyOfYardstickDatabase, type Filled, publicUrl } from "../support/platform.ts";
import { BenchError, type Server, startPinnedServer } from "../support/processes.ts";
import type { Traffic } from "./load.ts";

/** Servers in other stacks, in `tests/bench/yardsticks`: they do the work that On Air does, as their users write it. */
export const frameworks = ["Fastify", "Hono"] as const;
export type Framework = (typeof frameworks)[number];

const directory = resolve(import.meta.dir, "../yardsticks");
const node = join(directory, "node_modules/node/bin/node");

/** Those that are here, installed where they are not yet; none where that is not possible, which is said. */
export async function availableFrameworks(say: (line: string) => void): Promise<readonly Framework[]> {
  const failure = await install(say);
  if (failure === null) return frameworks;
  process.stderr.write(`\nWITHOUT FASTIFY AND HONO, BECAUSE ${failure}\n\n`);
  return [];
}

/** Installs their packages. Returns why it could not be, or null. */
async function install(say: (line: string) => void): Promise<string | null> {
  if (!existsSync(node)) say("Installing Fastify, better-sqlite3, Hono and Node into tests/bench/yardsticks");
  const command = [process.execPath, "install", "--frozen-lockfile"];
  const bun = Bun.spawn(command, { cwd: directory, stdout: "pipe", stderr: "pipe" });
  const output = (await Promise.all([bun.stdout.text(), bun.stderr.text()])).join("");
  if ((await bun.exited) !== 0) return `bun install failed:\n${output}`;
  return existsSync(node) ? null : `bun install has not brought Node:\n${output}`;
}

/** The database of a framework: the users, and from On Air its categories and a token. */
export async function frameworkDatabase(
  filled: Filled,
  onAir: Server,
  { file, token, say }: { file: string; token: string; say: (line: string) => void },
): Promise<void> {
  await copyOfYardstickDatabase(filled, file, say);
  const db = new Database(file, { readwrite: true, strict: true });
  db.run("INSERT INTO applications VALUES (?, ?)", ["benchmark", rateLimit]);
  db.run("INSERT INTO tokens VALUES (?, ?, ?, ?)", [
    secretHash(token),
    "benchmark",
    JSON.stringify(["users:read"]),
    Date.now() + 86_400_000,
  ]);
  const put = db.prepare("INSERT INTO categories VALUES (?, ?, ?, ?, ?, ?, ?)");
  for await (const { id, name, slug, icon, banner, viewers, tags } of categoriesOf(onAir)) {
    put.run(id, name, slug, icon, banner, viewers, JSON.stringify(tags));
  }
  db.close();
}

interface Category {
  readonly id: number;
  readonly name: string;
  readonly slug: string;
  readonly icon: string;
  readonly banner: string;
  readonly viewers: number;
  readonly tags: readonly { readonly id: number; readonly name: string }[];
}

async function* categoriesOf({ url }: Server): AsyncGenerator<Category> {
  for (let cursor = "", more = true; more; ) {
    const query = cursor === "" ? "" : `&cursor=${cursor}`;
    const answer = await fetch(`${url}/public/v1/categories?limit=100${query}`);
    if (!answer.ok) throw new BenchError(`On Air gives no categories: ${await answer.text()}`);
    const { categories, pagination } = (await answer.json()) as {
      categories: Category[];
      pagination: { cursor: string; has_more: boolean };
    };
    yield* categories;
    cursor = pagination.cursor;
    more = pagination.has_more;
  }
}

/** Starts a framework's server on a free port. */
export async function startFramework(framework: Framework, database: string): Promise<Server> {
  const program = join(directory, `${framework.toLowerCase()}-server.ts`);
  const runtime = framework === "Fastify" ? node : process.execPath;
  const env = {
    PATH: process.env.PATH ?? "",
    NODE_ENV: "production",
    EXPOSED_HEADERS: crossOrigin["access-control-expose-headers"],
  };
  const { server } = await startPinnedServer(framework, [runtime, program, database, "0", publicUrl], {
    env,
  });
  return server;
}

/** These headers differ from answer to answer; of the others only the names of these are compared. */
const everChanging = ["x-request-id", "ratelimit-remaining", "ratelimit-reset"];
/**
 * What of a framework's answers may differ from On Air's: the date, what Node and Fastify add by themselves, a charset
 * after the content type among them, and opaque values of its own.
 */
const ignored = ["date", "connection", "keep-alive", "content-type", "etag", "content-length"];
const opaque = /"cursor":"[^"]*"/;

/** How many requests of the load are compared, and how many characters of an answer an error shows. */
const compared = 500;
const mostShown = 1_000;

/** Throws unless a server answers the first requests of the load with 200, and headers and body, as On Air does. */
export async function requireEqualAnswers(onAir: Server, other: Server, traffic: Traffic): Promise<void> {
  const shown = async (server: Server, path: string) => {
    const answer = await fetch(server.url + path, { headers: traffic.headers, redirect: "manual" });
    const body = await answer.text();
    if (answer.status !== 200)
      throw new BenchError(`${server.name} answers ${path} with ${answer.status}: ${body.slice(0, 200)}`);
    const headers = [...answer.headers]
      .filter(([name]) => !ignored.includes(name))
      .map(([name, value]) => [name, everChanging.includes(name) ? "" : value])
      .sort();
    return JSON.stringify([headers, body.replace(opaque, "")]);
  };
  for (const index of traffic.order.subarray(0, compared)) {
    const path = traffic.paths[index] ?? "";
    const [expected, answer] = [await shown(onAir, path), await shown(other, path)];
    if (answer === expected) continue;
    throw new BenchError(
      `${other.name} does not answer ${path} as On Air does:\n${answer.slice(0, mostShown)}\n${expected.slice(0, mostShown)}`,
    );
  }
}
