import { join } from "node:path";
import { BenchError, type Server, startPinnedServer } from "./processes.ts";
import { orderFile, type Traffic } from "./wrk.ts";

const answersFile = "answers";

/** An answer of On Air as the yardsticks repeat it; `headers` is JSON text, so that equal ones are easily found. */
export interface KeptAnswer {
  readonly path: string;
  readonly headers: string;
  readonly body: string;
}

/** These differ from answer to answer; a yardstick repeats the ones that came first. */
const everChanging = ["x-request-id", "ratelimit-remaining", "ratelimit-reset"];
/** These are made by `Bun.serve` itself. */
const automatic = ["date", "content-length"];

const atOnce = 16;
const compared = 200;

/** Asks On Air for every path of a workload and keeps the answers in `directory`. */
export async function captureAnswers(directory: string, onAir: Server, traffic: Traffic): Promise<void> {
  const answers: string[] = [];
  const first = new Map<string, string>();
  const capture = async (index: number) => {
    const path = traffic.paths[index] ?? "";
    const { body, headers } = await ask(onAir, path, traffic);
    const kept = headers
      .filter(([name]) => !automatic.includes(name))
      .map(([name, value]) => {
        if (!everChanging.includes(name)) return [name, value];
        if (!first.has(name)) first.set(name, value);
        return [name, first.get(name)];
      });
    const answer: KeptAnswer = { path, headers: JSON.stringify(kept), body };
    answers[index] = JSON.stringify(answer);
  };
  let next = 0;
  const worker = async () => {
    while (next < traffic.paths.length) await capture(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  await Bun.write(join(directory, answersFile), answers.join("\n"));
}

/**
 * Starts a yardstick on the answers captured in `directory`. `equal` finds them by what stands behind `keyAfter` in the
 * path, and checks the token where there is one.
 */
export async function startYardstick(
  kind: "bare" | "equal",
  directory: string,
  keyAfter: string,
  token: string | null,
): Promise<Server> {
  const program = join(import.meta.dir, "yardstick-server.ts");
  const files = [join(directory, answersFile), join(directory, orderFile)];
  const options = [kind, ...files, keyAfter, ...(token === null ? [] : [token])];
  const command = [process.execPath, program, ...options];
  const { server } = await startPinnedServer(kind, command, /^ready (\S+)\n/);
  return server;
}

/** Throws unless a yardstick that nobody asked before answers the first requests of the load as On Air does. */
export async function requireEqualAnswers(onAir: Server, yardstick: Server, traffic: Traffic): Promise<void> {
  const shown = async (server: Server, path: string) => {
    const { body, headers } = await ask(server, path, traffic);
    const stable = headers.filter(([name]) => name !== "date");
    return JSON.stringify([
      stable.map(([name, value]) => [name, everChanging.includes(name) ? "" : value]),
      body,
    ]);
  };
  for (const index of traffic.order.subarray(0, compared)) {
    const path = traffic.paths[index] ?? "";
    const [expected, answer] = [await shown(onAir, path), await shown(yardstick, path)];
    if (answer === expected) continue;
    throw new BenchError(`${yardstick.name} does not answer ${path} as On Air does:\n${answer}\n${expected}`);
  }
}

async function ask(server: Server, path: string, { headers }: Traffic) {
  const response = await fetch(server.url + path, { headers, redirect: "manual" });
  const body = await response.text();
  if (response.status !== 200) {
    throw new BenchError(`${server.name} answers ${path} with ${response.status}: ${body.slice(0, 200)}`);
  }
  return { body, headers: [...response.headers].sort(([a], [b]) => (a < b ? -1 : 1)) };
}
