import { join } from "node:path";
import { unusedPort } from "../support/ports.ts";
import { type Bench, benchmark } from "./support/bench.ts";
import { mostIdleBytes, newToken, serveCommand, serveEnvironment, startOnAir } from "./support/onair.ts";
import {
  copyOfData,
  filledPlatform,
  profileOf,
  publicUrl,
  sampleUsers,
  usersPath,
} from "./support/platform.ts";
import {
  BenchError,
  cpuNanoseconds,
  pinThisProcess,
  residentBytes,
  serverCore,
  startPinned,
} from "./support/processes.ts";
import { below, inRounds, median, megabytes, milliseconds, table, whole } from "./support/report.ts";

/*
 * The time from the executable's start to its first correct answer with a million users in its file, and its memory at
 * rest: bun tests/bench/startup.ts --help
 */

const about = `
The time is from before the process is created to the correct answer to Get User, which is requested repeatedly from before
the start. Memory is the resident size after 5 seconds at rest.
`;

const mostFirstAnswerMs = 120;
const restMs = 5_000;
const patienceMs = 60_000;

interface Start {
  /** From before the process is created to the correct answer. */
  readonly answeredMs: number;
  /** From there to its ready line. */
  readonly readyMs: number;
  /** Processor time until the correct answer. */
  readonly cpuMs: number;
  readonly idleBytes: number;
}

const args = ["--public-url", publicUrl];

async function start({ executable, directory }: Bench, data: string, question: Question): Promise<Start> {
  const port = await unusedPort();
  const command = [...serveCommand(executable, port), "--data", data, ...args];
  const startedAt = performance.now();
  const since = () => performance.now() - startedAt;
  const child = startPinned(serverCore, command, { cwd: directory, env: serveEnvironment(directory) });
  const ready = readyLine(child.stdout).then(since);
  await firstRightAnswer(port, question, patienceMs);
  const answeredMs = since();
  const cpuMs = cpuNanoseconds(child.pid) / 1e6;
  const readyMs = await ready;
  await Bun.sleep(restMs);
  const idleBytes = residentBytes(child.pid);
  child.kill("SIGTERM");
  await child.exited;
  return { answeredMs, readyMs, cpuMs, idleBytes };
}

async function readyLine(output: ReadableStream<Uint8Array>): Promise<void> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of output) {
    text += decoder.decode(chunk, { stream: true });
    if (/^(onair )?ready .*\n/m.test(text)) return;
  }
}

/** A request and its only correct answer. */
interface Question {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Asks until the right answer has come, anew at once where nobody listens yet or the answer is another one; a try takes
 * some 0.1 ms. Throws after `withinMs`, naming the last answer.
 */
async function firstRightAnswer(
  port: number,
  { path, headers, body }: Question,
  withinMs: number,
): Promise<void> {
  const lines = Object.entries({ host: `127.0.0.1:${port}`, ...headers, connection: "close" });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const request = `GET ${path} HTTP/1.1\r\n${head}\r\n`;
  const deadline = performance.now() + withinMs;
  let last: string | null = null;
  while (performance.now() < deadline) {
    const answer = await exchange(port, request, deadline - performance.now());
    if (answer?.startsWith("HTTP/1.1 200 ") && answer.endsWith(`\r\n\r\n${body}`)) return;
    last = answer ?? last;
  }
  throw new BenchError(`No right answer to ${path} within ${withinMs} ms, but ${last ?? "no connection"}`);
}

/** All that a server says until it closes the connection, as text; null where there is no connection. */
async function exchange(port: number, request: string, withinMs: number): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const decoder = new TextDecoder();
  let text = "";
  const timer = setTimeout(() => resolve(null), withinMs);
  try {
    const socket = await Bun.connect({
      hostname: "127.0.0.1",
      port,
      socket: {
        data: (_, chunk) => {
          text += decoder.decode(chunk, { stream: true });
        },
        close: () => resolve(text),
        error: () => resolve(null),
        connectError: () => resolve(null),
      },
    });
    socket.write(request);
    const answer = await promise;
    socket.terminate();
    return answer;
  } catch {
    return null; // refused: nobody listens yet
  } finally {
    clearTimeout(timer);
  }
}

/** Fills a data directory with users, and chooses what is asked: for the user in the middle. */
async function prepare(bench: Bench, data: string, users: number): Promise<Question> {
  await copyOfData(await filledPlatform(users, bench.say), data);
  const onAir = await startOnAir(bench, { data, args });
  const token = await newToken(onAir);
  await onAir.stop();
  const [row] = sampleUsers(users).drop(users >> 1);
  if (!row) throw new BenchError("There are no users");
  const { username, body } = profileOf(row);
  return { path: usersPath + username, headers: { authorization: `Bearer ${token}` }, body };
}

await benchmark(
  {
    about,
    options: {
      users: { default: 1_000_000, most: 1e7, help: "users in the data" },
      rounds: { default: 5, most: 100, help: "starts that count, after one that does not" },
    },
    ofExecutable: true,
  },
  async (bench, { users, rounds }) => {
    const data = join(bench.directory, "data");
    const question = await prepare(bench, data, users);
    pinThisProcess();
    await bench.measure("startup", async () => {
      await start(bench, data, question);
      const starts = await inRounds(rounds, () => start(bench, data, question));
      const spread = (figure: keyof Start, shown: (value: number) => string) => {
        const values = starts.map((one) => one[figure]);
        return `${shown(median(values))} (${shown(Math.min(...values))} to ${shown(Math.max(...values))})`;
      };
      return {
        shown: table([
          ["", "first answer", "ready line", "CPU of it", "RSS idle"],
          [
            `${whole(users)} users`,
            ...(["answeredMs", "readyMs", "cpuMs"] as const).map((figure) => spread(figure, milliseconds)),
            spread("idleBytes", megabytes),
          ],
        ]),
        figures: { starts },
        goals: [
          below("On Air answers after", median(starts.map((one) => one.answeredMs)), mostFirstAnswerMs, {
            as: milliseconds,
          }),
          below("at rest it takes", median(starts.map((one) => one.idleBytes)), mostIdleBytes, {
            as: megabytes,
          }),
        ],
      };
    });
  },
);
