import { join } from "node:path";
import { unusedPort } from "../support/ports.ts";
import { firstRightAnswer, type Question } from "./startup/first-answer.ts";
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
