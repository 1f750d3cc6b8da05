import { join } from "node:path";
import { BenchError, type Server, startPinnedServer } from "./processes.ts";
import type { Traffic } from "./wrk.ts";

/** Where kept answers are: one `KeptAnswer` as JSON on each line, and the heads that they refer to, as a JSON array. */
export const answersFile = "answers";
export const headsFile = "heads";

/** Status and headers of answers, but for the headers that `Bun.serve` makes itself. */
export interface Head {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** An answer of On Air as the yardsticks repeat it; `head` is an index. */
export type KeptAnswer = readonly [path: string, head: number, body: string];

/** These differ from answer to answer; a yardstick repeats the ones that came first. */
const everChanging = ["x-request-id", "ratelimit-remaining", "ratelimit-reset"];
/** These are made by `Bun.serve` itself. */
const automatic = ["date", "content-length"];

const atOnce = 16;
const compared = 500;

/** Asks On Air for every path of a workload and keeps the answers, which must have that status, in `directory`. */
export async function captureAnswers(
  directory: string,
  onAir: Server,
  traffic: Traffic,
  status: number,
): Promise<void> {
  const answers: string[] = [];
  const heads = new Map<string, number>();
  const first = new Map<string, string>();
  const capture = async (index: number) => {
    const path = traffic.paths[index] ?? "";
    const { body, headers } = await ask(onAir, path, traffic, status);
    const kept = headers
      .filter(([name]) => !automatic.includes(name))
      .map(([name, value]) => {
        if (!everChanging.includes(name)) return [name, value];
        if (!first.has(name)) first.set(name, value);
        return [name, first.get(name)];
      });
    const head = JSON.stringify({ status, headers: kept });
    if (!heads.has(head)) heads.set(head, heads.size);
    answers[index] = JSON.stringify([path, heads.get(head), body]);
  };
  let next = 0;
  const worker = async () => {
    while (next < traffic.paths.length) await capture(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  await Bun.write(join(directory, headsFile), `[${[...heads.keys()].join(",")}]`);
  await Bun.write(join(directory, answersFile), answers.join("\n"));
}

/** What a yardstick answers with. */
export interface Answers {
  /** With the files of the load and the heads. */
  readonly directory: string;
  /** The file of answers. */
  readonly file: string;
  /** `equal` finds them by what stands behind this in the path. */
  readonly keyAfter: string;
  /** `equal` checks it; null where everyone may read. */
  readonly token: string | null;
}

export async function startYardstick(
  kind: "bare" | "equal",
  { directory, file, keyAfter, token }: Answers,
): Promise<Server> {
  const program = join(import.meta.dir, "yardstick-server.ts");
  const options = [kind, directory, file, keyAfter, ...(token === null ? [] : [token])];
  const command = [process.execPath, program, ...options];
  // The answers of ten million users take minutes to read.
  const { server } = await startPinnedServer(kind, command, { deadlineMs: 600_000 });
  return server;
}

/** What of an answer may differ from that of On Air: these headers, and this in the body. */
export interface Tolerance {
  readonly headers: readonly string[];
  /** Is replaced by nothing on both sides. */
  readonly body: RegExp | null;
}

/** Characters of an answer that an error shows. */
const mostShown = 1_000;

const none: Tolerance = { headers: [], body: null };

/** Throws unless a server answers the first requests of the load as On Air does, in status, headers and body. */
export async function requireEqualAnswers(
  onAir: Server,
  other: Server,
  { traffic, status }: { traffic: Traffic; status: number },
  tolerance = none,
): Promise<void> {
  const ignored = ["date", ...tolerance.headers];
  const shown = async (server: Server, path: string) => {
    const { body, headers } = await ask(server, path, traffic, status);
    const stable = headers.filter(([name]) => !ignored.includes(name));
    return JSON.stringify([
      stable.map(([name, value]) => [name, everChanging.includes(name) ? "" : value]),
      tolerance.body ? body.replace(tolerance.body, "") : body,
    ]);
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

async function ask(server: Server, path: string, { headers }: Traffic, status: number) {
  const response = await fetch(server.url + path, { headers, redirect: "manual" });
  const body = await response.text();
  if (response.status !== status) {
    throw new BenchError(`${server.name} answers ${path} with ${response.status}: ${body.slice(0, 200)}`);
  }
  return { body, headers: [...response.headers].sort(([a], [b]) => (a < b ? -1 : 1)) };
}
