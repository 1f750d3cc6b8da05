/*
 * How long the compiled executable takes from its start to its first right answer with a million users in its file, and
 * its memory at rest, beside other servers: bun tests/bench/startup.ts --help
 */
import { unusedPort } from "../support/ports.ts";
import { type Contender, makeContenders } from "./startup/contenders.ts";
import { firstRightAnswer, type Question } from "./startup/first-answer.ts";
import { forgetPages } from "./startup/page-cache.ts";
import { installFrameworks } from "./support/frameworks.ts";
import { memoryLimits } from "./support/judge.ts";
import { builtExecutable } from "./support/onair.ts";
import { readOptions } from "./support/options.ts";
import {
  benchDirectory,
  cpuNanoseconds,
  otherWork,
  pinThisProcess,
  requireMachine,
  residentBytes,
  runBench,
  serverCore,
  startPinned,
} from "./support/processes.ts";
import { megabytes, milliseconds, table, whole } from "./support/report.ts";
import { median } from "./support/rounds.ts";

const mostFirstAnswerMs = 120;

const help = `Usage: bun tests/bench/startup.ts [options]

  --users N          users in the data, up to 10,000,000 (default: 1000000)
  --rounds N         starts of each server that count, after one that does not (default: 5)
  --cold N           starts of each server with nothing of it in the page cache, 0 for none (default: 3)
  --alone            without Fastify and Hono
  --executable FILE  measure this one instead of dist/onair
  --json             print one line of JSON
  --check            exit with 1 when the median of On Air is not under ${mostFirstAnswerMs} ms, or its memory not
                     under ${megabytes(memoryLimits.idleBytes)}

The time is from before the process is made to the right answer to Get User, which is asked for again and again from
before the start. The servers are started in turn; memory is what is resident after 5 seconds at rest.
`;

const restMs = 5_000;
const patienceMs = 60_000;

interface Start {
  /** From before the process is made to the right answer. */
  readonly answeredMs: number;
  /** To its line that says it is ready. */
  readonly readyMs: number;
  /** Processor time until the right answer. */
  readonly cpuMs: number;
  /** null where it was not given the time to come to rest. */
  readonly idleBytes: number | null;
}

/** The starts of one server. */
interface Started {
  readonly name: string;
  readonly warm: readonly Start[];
  readonly cold: readonly Start[];
  /** The most of its files that stayed in the page cache at a cold start, as a part of all; null: not known. */
  readonly stayed: number | null;
}

async function start(
  contender: Contender,
  question: Question,
  directory: string,
  rest: number,
): Promise<Start> {
  const port = await unusedPort();
  const startedAt = performance.now();
  const since = () => performance.now() - startedAt;
  const options = { cwd: directory, env: contender.env };
  const child = startPinned(serverCore, contender.command(port), options);
  const ready = readyLine(child.stdout).then(since);
  await firstRightAnswer(port, question, patienceMs);
  const answeredMs = since();
  const cpuMs = cpuNanoseconds(child.pid) / 1e6;
  const readyMs = await ready;
  await Bun.sleep(rest);
  const idleBytes = rest > 0 ? residentBytes(child.pid) : null;
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

async function measure(
  contenders: readonly Contender[],
  question: Question,
  { rounds, cold, directory }: { rounds: number; cold: number; directory: string },
): Promise<Started[]> {
  const started = contenders.map(({ name }) => ({
    name,
    warm: [] as Start[],
    cold: [] as Start[],
    stayed: cold > 0 ? 0 : (null as number | null),
  }));
  for (let round = 0; round <= rounds; round++) {
    for (const [i, contender] of contenders.entries()) {
      const one = await start(contender, question, directory, round === 0 ? 0 : restMs);
      if (round > 0) started[i]?.warm.push(one);
    }
  }
  for (let round = 0; round < cold; round++) {
    for (const [i, contender] of contenders.entries()) {
      const stayed = forgetPages(contender.files);
      const own = started[i];
      if (!own) continue;
      own.stayed = stayed === null ? null : Math.max(own.stayed ?? 0, stayed);
      own.cold.push(await start(contender, question, directory, 0));
    }
  }
  return started;
}

/** The median and the range of a figure. */
function spread(values: readonly number[], shown: (value: number) => string): string {
  if (values.length === 0) return "";
  return `${shown(median(values))} (${shown(Math.min(...values))} to ${shown(Math.max(...values))})`;
}

function describe(users: number, started: readonly Started[]): string {
  const ms = (starts: readonly Start[], figure: "answeredMs" | "readyMs" | "cpuMs") =>
    spread(
      starts.map((one) => one[figure]),
      milliseconds,
    );
  const idle = ({ warm }: Started) => warm.map(({ idleBytes }) => idleBytes ?? Number.NaN);
  const warm = started.map((one) => [
    one.name,
    ms(one.warm, "answeredMs"),
    ms(one.warm, "readyMs"),
    ms(one.warm, "cpuMs"),
    spread(idle(one), megabytes),
  ]);
  const head = [`${whole(users)} users`, "first answer", "ready line", "CPU of it", "RSS idle"];
  const tables = [table([head, ...warm])];
  const cold = started
    .filter((one) => one.cold.length > 0)
    .map((one) => [
      one.name,
      ms(one.cold, "answeredMs"),
      ms(one.cold, "readyMs"),
      one.stayed === null ? "?" : `${(one.stayed * 100).toFixed(0)} %`,
    ]);
  const coldHead = ["Page cache cold", "first answer", "ready line", "stayed in the cache"];
  if (cold.length > 0) tables.push(table([coldHead, ...cold]));
  return `${tables.join("\n\n")}\n`;
}

async function main(): Promise<void> {
  const { users, rounds, cold, alone, json, check, executable } = readOptions(help, {
    numbers: {
      users: { default: 1_000_000, most: 1e7 },
      rounds: { default: 5, most: 100 },
      cold: { default: 3, least: 0, most: 100 },
    },
    texts: ["executable"],
    flags: ["alone", "json", "check"],
  });
  requireMachine({ taskset: "util-linux" });
  const say = (line: string) => void (json || process.stderr.write(`${line}\n`));
  const directory = benchDirectory();
  const failure = alone ? null : await installFrameworks(say);
  if (failure) process.stderr.write(`\nWITHOUT FASTIFY AND HONO, BECAUSE ${failure}\n\n`);
  const withFrameworks = !alone && failure === null;
  const { question, contenders } = await makeContenders({
    users,
    executable: await builtExecutable(executable),
    directory,
    withFrameworks,
    say,
  });
  pinThisProcess();
  say("Starting them in turn");
  const others = otherWork();
  const started = await measure(contenders, question, { rounds, cold, directory });
  const othersShare = others();
  const warm = started[0]?.warm ?? [];
  const answeredMs = median(warm.map((one) => one.answeredMs));
  const idleBytes = median(warm.map((one) => one.idleBytes ?? Number.NaN));
  const met = { answered: answeredMs < mostFirstAnswerMs, idle: idleBytes < memoryLimits.idleBytes };
  if (json) {
    process.stdout.write(`${JSON.stringify({ users, rounds, cold, othersShare, met, started })}\n`);
  } else {
    const shown = (isMet: boolean) => (isMet ? "met" : "NOT met");
    process.stdout.write(
      `${describe(users, started)}
On Air answers after ${milliseconds(answeredMs)}; the limit of ${mostFirstAnswerMs} ms is ${shown(met.answered)}
Idle it takes ${megabytes(idleBytes)}; the limit of ${megabytes(memoryLimits.idleBytes)} is ${shown(met.idle)}
Other programs took ${(othersShare * 100).toFixed(0)} % of the machine's time meanwhile
`,
    );
  }
  if (check && !(met.answered && met.idle)) process.exitCode = 1;
}

await runBench(main);
