/*
 * How long an online backup of a million users takes, and how a server answers while it is made and downloaded:
 * bun tests/bench/backup.ts --help
 */
import { statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { adminKey, builtExecutable, newToken, type OnAir, startOnAir } from "./support/onair.ts";
import { readOptions } from "./support/options.ts";
import { sampleUsers, usernameOf, writeRows } from "./support/platform.ts";
import {
  BenchError,
  benchDirectory,
  cpuSeconds,
  loadCore,
  otherWork,
  pinThisProcess,
  requireMachine,
  serverCore,
  startPinned,
} from "./support/processes.ts";
import { megabytes, milliseconds, table, whole } from "./support/report.ts";
import { median, percentile } from "./support/rounds.ts";
import { atRate, Wire, type WireAnswer } from "./support/wire.ts";

const help = `Usage: bun tests/bench/backup.ts [options]

  --users N     in the database (default: 1,000,000)
  --rounds N    of each state in turn; shown are medians (default: 5)
  --cpus LIST   where the server runs, as taskset takes it (default: ${serverCore}; the load is on ${loadCore})
  --json        print one line of JSON

Asks for 200 users, 200 times for healthz and 50 writes a second, while nothing else is done, while backups are made,
and while one is downloaded. Needs Linux, two cores, taskset, and some 3 GB in the directory for temporary files.
`;

const { users, rounds, cpus, json } = readOptions(help, {
  numbers: { users: { default: 1_000_000, least: 1_000 }, rounds: { default: 5 } },
  texts: ["cpus"],
  flags: ["json"],
});

const states = ["idle", "backup", "download"] as const;
type State = (typeof states)[number];
const questions = { "Get User": 200, healthz: 200, "put a user": 50 } as const;
type Question = keyof typeof questions;

/** What one state of one round was like. */
interface Window {
  readonly state: State;
  readonly seconds: number;
  /** The part of the machine's processor time that went to others. */
  readonly others: number;
  readonly took: Readonly<Record<Question, readonly number[]>>;
}

/** Into a data directory, by the command that operators use. */
async function fill(executable: string, directory: string): Promise<string> {
  const [file, data] = [join(directory, "users.ndjson"), join(directory, "data")];
  await writeRows(file, sampleUsers(users));
  const command = [executable, "import", "users", file, "--data", data];
  const importing = startPinned(`${serverCore},${loadCore}`, command);
  if ((await importing.exited) !== 0) throw new BenchError("The users could not be imported");
  return data;
}

class Bench {
  readonly #onAir: OnAir;
  readonly #admin: Wire;
  readonly #ask: Record<Question, (n: number) => Promise<WireAnswer>>;

  constructor(onAir: OnAir, token: string) {
    this.#onAir = onAir;
    this.#admin = new Wire(onAir.adminUrl, { authorization: `Bearer ${adminKey}` });
    const api = new Wire(onAir.url, { authorization: `Bearer ${token}` });
    const [row] = sampleUsers(users);
    this.#ask = {
      "Get User": (n) => api.get(`/public/v1/users/${usernameOf((n * 7_919) % users)}`),
      healthz: () => this.#admin.get("/healthz"),
      "put a user": (n) =>
        this.#admin.post(
          "/admin/v1/users/batch",
          JSON.stringify({ ...row, bio: `Number ${n}` }),
          "content-type: application/x-ndjson\r\n",
        ),
    };
  }

  /** Asks at fixed times, whether earlier answers have come or not, until `work` is over. */
  async during(state: State, work: Promise<unknown>): Promise<Window> {
    const took: Record<Question, number[]> = { "Get User": [], healthz: [], "put a user": [] };
    const others = otherWork();
    const serverBefore = cpuSeconds(this.#onAir.pid);
    const startedAt = performance.now();
    let seconds = 0;
    let isOver = false;
    const end = work.then(() => {
      isOver = true;
      seconds = (performance.now() - startedAt) / 1000;
    });
    const asking = Object.entries(questions).map(async ([question, perSecond]) => {
      const name = question as Question;
      for (let first = 0; !isOver; first += perSecond / 5) {
        await atRate(perSecond, 0.2, async (n) => {
          const { status, ms } = await this.#ask[name](first + n);
          if (status !== 200) throw new BenchError(`${name} answers ${status}`);
          took[name].push(ms);
        });
      }
    });
    await Promise.all([end, ...asking]);
    const all = ((performance.now() - startedAt) / 1000) * availableParallelism();
    const server = (cpuSeconds(this.#onAir.pid) - serverBefore) / all;
    return { state, seconds, others: Math.max(0, others() - server), took };
  }

  /** Makes a backup; gives its id. */
  async backup(): Promise<string> {
    const path = "/admin/v1/backups";
    const begun = await this.#admin.post(path, "");
    let { id, status } = JSON.parse(begun.body) as { id: string; status: string };
    while (status === "running") {
      await Bun.sleep(20);
      ({ id, status } = JSON.parse((await this.#admin.get(`${path}/${id}`)).body));
    }
    if (status !== "done") throw new BenchError(`The backup is ${status}`);
    return id;
  }

  /** By a process of its own, which throws it away. */
  async download(id: string): Promise<void> {
    const url = `${this.#onAir.adminUrl}/admin/v1/backups/${id}/content`;
    const program = `const r = await fetch(${JSON.stringify(url)}, { headers: { authorization: "Bearer ${adminKey}" } });
      if (!r.ok) process.exit(1); for await (const _ of r.body);`;
    if ((await startPinned(loadCore, [process.execPath, "-e", program]).exited) !== 0)
      throw new BenchError("The backup could not be downloaded");
  }
}

async function measure(): Promise<{ windows: Window[]; databaseBytes: number }> {
  const executable = await builtExecutable();
  const directory = benchDirectory();
  const data = await fill(executable, directory);
  pinThisProcess();
  const onAir = await startOnAir(executable, data, directory, {
    ...(cpus !== undefined && { cpus }),
    args: ["--keep-backups", "1"],
  });
  const bench = new Bench(onAir, await newToken(onAir));
  await bench.during("idle", Bun.sleep(3_000));
  const windows: Window[] = [];
  for (let round = 0; round < rounds; round++) {
    windows.push(await bench.during("idle", Bun.sleep(3_000)));
    let id = "";
    const made = bench.backup().then((of) => {
      id = of;
    });
    windows.push(await bench.during("backup", made));
    windows.push(await bench.during("download", bench.download(id)));
  }
  await onAir.stop();
  return { windows, databaseBytes: statSync(join(data, "onair.db")).size };
}

requireMachine({ taskset: "util-linux" });
const { windows, databaseBytes } = await measure();
const figures = states.map((state) => {
  const of = windows.filter((window) => window.state === state);
  const at = (question: Question, share: number) =>
    median(of.map(({ took }) => percentile(took[question], share)));
  return {
    state,
    seconds: median(of.map(({ seconds }) => seconds)),
    others: median(of.map(({ others }) => others)),
    answers: Object.fromEntries(
      (Object.keys(questions) as Question[]).map((question) => [
        question,
        { p50: at(question, 0.5), p99: at(question, 0.99), longest: at(question, 1) },
      ]),
    ),
  };
});
if (json) {
  process.stdout.write(`${JSON.stringify({ users, rounds, cpus, databaseBytes, figures })}\n`);
} else {
  const head = [
    "",
    "seconds",
    "others' CPU",
    ...Object.keys(questions).flatMap((name) => [`${name} p50`, "p99", "longest"]),
  ];
  const rows = figures.map(({ state, seconds, others, answers }) => [
    state,
    seconds.toFixed(1),
    `${Math.round(others * 100)} %`,
    ...Object.values(answers).flatMap(({ p50, p99, longest }) => [p50, p99, longest].map(milliseconds)),
  ]);
  process.stdout.write(`${whole(users)} users, ${megabytes(databaseBytes)}\n${table([head, ...rows])}\n`);
}
process.exit();
