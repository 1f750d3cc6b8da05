import { unusedPort } from "../support/ports.ts";
import { type Contender, makeContenders } from "./startup/contenders.ts";
import { firstRightAnswer, type Question } from "./startup/first-answer.ts";
import { benchmark } from "./support/bench.ts";
import { mostIdleBytes } from "./support/onair.ts";
import {
  cpuNanoseconds,
  pinThisProcess,
  residentBytes,
  serverCore,
  startPinned,
} from "./support/processes.ts";
import { below, median, megabytes, milliseconds, table, whole } from "./support/report.ts";

/*
 * The time from the executable's start to its first correct answer with a million users in its file, and its memory at
 * rest, compared with other servers: bun tests/bench/startup.ts --help
 */

const about = `
The time is from before the process is created to the correct answer to Get User, which is requested repeatedly from before
the start. The servers are started in turn. Memory is the resident size after 5 seconds at rest.
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

async function start(contender: Contender, question: Question, directory: string): Promise<Start> {
  const port = await unusedPort();
  const startedAt = performance.now();
  const since = () => performance.now() - startedAt;
  const child = startPinned(serverCore, contender.command(port), { cwd: directory, env: contender.env });
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

interface Started {
  readonly name: string;
  readonly starts: Start[];
}

/** The median and the range of a figure. */
function spread({ starts }: Started, figure: keyof Start, shown: (value: number) => string): string {
  const values = starts.map((one) => one[figure]);
  return `${shown(median(values))} (${shown(Math.min(...values))} to ${shown(Math.max(...values))})`;
}

await benchmark(
  {
    about,
    options: {
      users: { default: 1_000_000, most: 1e7, help: "users in the data" },
      rounds: { default: 5, most: 100, help: "starts of each server that count, after one that does not" },
    },
    ofExecutable: true,
  },
  async (bench, { users, rounds }) => {
    const { question, contenders } = await makeContenders(bench, users);
    pinThisProcess();
    bench.say("Starting them in turn");
    await bench.measure("startup", async () => {
      const started: Started[] = contenders.map(({ name }) => ({ name, starts: [] }));
      for (let round = 0; round <= rounds; round++) {
        for (const [i, contender] of contenders.entries()) {
          const one = await start(contender, question, bench.directory);
          if (round > 0) started[i]?.starts.push(one);
        }
      }
      const mine = started[0]?.starts ?? [];
      return {
        shown: table([
          [`${whole(users)} users`, "first answer", "ready line", "CPU of it", "RSS idle"],
          ...started.map((one) => [
            one.name,
            spread(one, "answeredMs", milliseconds),
            spread(one, "readyMs", milliseconds),
            spread(one, "cpuMs", milliseconds),
            spread(one, "idleBytes", megabytes),
          ]),
        ]),
        figures: { started },
        goals: [
          below("On Air answers after", median(mine.map((one) => one.answeredMs)), mostFirstAnswerMs, {
            as: milliseconds,
          }),
          below("at rest it takes", median(mine.map((one) => one.idleBytes)), mostIdleBytes, {
            as: megabytes,
          }),
        ],
      };
    });
  },
);
