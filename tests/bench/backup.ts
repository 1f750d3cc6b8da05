/*
 * How long an online backup of a million users takes, and how a server answers while it is made and downloaded:
 * bun tests/bench/backup.ts --help
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { adminKey } from "../support/server.ts";
import { benchmark } from "./support/bench.ts";
import { copyOfData, filledPlatform } from "./support/filled.ts";
import { newToken, type OnAir, startOnAir } from "./support/onair.ts";
import { sampleUsers, usernameOf } from "./support/platform.ts";
import { BenchError, loadCore, runPinned } from "./support/processes.ts";
import { megabytes, milliseconds, table, whole } from "./support/report.ts";
import { median, percentile } from "./support/rounds.ts";
import { atRate, Wire, type WireAnswer } from "./support/wire.ts";

const about = `
Sends 200 reads of users, 200 of healthz and 50 writes a second: without other work, while backups are made, and while
one is downloaded, in turn. Needs some 3 GB in the directory for temporary files.
`;

const states = ["idle", "backup", "download"] as const;
type State = (typeof states)[number];
const questions = { "Get User": 200, healthz: 200, "put a user": 50 } as const;
type Question = keyof typeof questions;

/** The measurements of one state in one round. */
interface Window {
  readonly state: State;
  readonly seconds: number;
  readonly took: Readonly<Record<Question, readonly number[]>>;
}

class Load {
  readonly #onAir: OnAir;
  readonly #admin: Wire;
  readonly #ask: Record<Question, (n: number) => Promise<WireAnswer>>;

  constructor(onAir: OnAir, token: string, users: number) {
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

  /** Sends requests at fixed times until `work` ends, without waiting for earlier answers. */
  async during(state: State, work: Promise<unknown>): Promise<Window> {
    const took: Record<Question, number[]> = { "Get User": [], healthz: [], "put a user": [] };
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
    return { state, seconds, took };
  }

  /** Makes a backup and returns its id. */
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

  /** Downloads it in a separate process that discards the bytes. */
  async download(id: string): Promise<void> {
    const url = `${this.#onAir.adminUrl}/admin/v1/backups/${id}/content`;
    const program = `const r = await fetch(${JSON.stringify(url)}, { headers: { authorization: "Bearer ${adminKey}" } });
      if (!r.ok) process.exit(1); for await (const _ of r.body);`;
    await runPinned(loadCore, [process.execPath, "-e", program]);
  }
}

await benchmark(
  {
    about,
    options: {
      users: { default: 1_000_000, least: 1_000, help: "in the database" },
      rounds: { default: 5, help: "of each state" },
    },
    ofExecutable: true,
    pinned: true,
  },
  async (bench, { users, rounds }) => {
    const data = join(bench.directory, "data");
    await copyOfData(await filledPlatform(users, bench.say), data);
    const onAir = await startOnAir(bench, { data, args: ["--keep-backups", "1"] });
    const load = new Load(onAir, await newToken(onAir), users);
    await bench.measure("backup", async () => {
      await load.during("idle", Bun.sleep(3_000));
      const windows: Window[] = [];
      for (let round = 0; round < rounds; round++) {
        windows.push(await load.during("idle", Bun.sleep(3_000)));
        const made = load.backup();
        windows.push(await load.during("backup", made));
        windows.push(await load.during("download", load.download(await made)));
      }
      const databaseBytes = statSync(join(data, "onair.db")).size;
      const names = Object.keys(questions) as Question[];
      return {
        shown: table([
          [
            `${whole(users)} users, ${megabytes(databaseBytes)}`,
            "seconds",
            ...names.flatMap((name) => [`${name} p50`, "p99", "longest"]),
          ],
          ...states.map((state) => {
            const of = windows.filter((window) => window.state === state);
            const at = (question: Question, share: number) =>
              milliseconds(median(of.map(({ took }) => percentile(took[question], share))));
            return [
              state,
              median(of.map(({ seconds }) => seconds)).toFixed(1),
              ...names.flatMap((name) => [0.5, 0.99, 1].map((share) => at(name, share))),
            ];
          }),
        ]),
        figures: { databaseBytes, windows },
      };
    });
    await onAir.stop();
  },
);
