import { Database } from "bun:sqlite";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { threadsOf } from "../support/processes.ts";
import { below, inRounds, medians, milliseconds, table } from "../support/report.ts";
import { latencyAt, toEachInTurn } from "./latency.ts";
import { bareScene, type Part, type Scene, withScene } from "./scene.ts";

const applications = 100;
const perSecond = 200;
/** Until then the server still compiles its program, which takes longer the less it has to do. */
const settlesAfterSeconds = 90;
const bareSettlesAfterSeconds = 20;
const goal = { cpuMs: 0.5, writtenBytes: 15_000, p99Ms: 10 };

/** What a process has written so far. Sockets are written to by other calls, which do not count. */
function written(pid: number) {
  const text = readFileSync(`/proc/${pid}/io`, "utf8");
  const of = (name: string) => Number(new RegExp(`^${name}: (\\d+)$`, "m").exec(text)?.[1]);
  return { calls: of("syscw"), bytes: of("wchar"), toDisk: of("write_bytes") };
}

/**
 * What the threads of a process have used so far: the one that answers, the one that delivers, and those of Bun itself.
 */
function used(pid: number) {
  const threads = threadsOf(pid);
  const msOf = (isMeant: (name: string) => boolean) =>
    threads.reduce((sum, { name, nanoseconds }) => sum + (isMeant(name) ? nanoseconds / 1e6 : 0), 0);
  return {
    cpuMs: msOf(() => true),
    mainMs: msOf((name) => name === "main"),
    engineMs: msOf((name) => name === "Worker"),
    bunMs: msOf((name) => name !== "main" && name !== "Worker"),
    waits: threads.reduce((sum, { waits }) => sum + waits, 0),
  };
}

/** What an event keeps in the database: the bytes of each table and index of the log for each event that is there. */
function kept(data: string): { name: string; bytes: number }[] {
  const db = new Database(join(data, "onair.db"), { readonly: true });
  try {
    return db
      .query<{ name: string; bytes: number }, []>(
        `SELECT d.name, sum(d.pgsize) * 1.0 / (SELECT count(*) FROM events) AS bytes
         FROM dbstat d JOIN sqlite_schema s ON s.name = d.name
         WHERE d.aggregate = TRUE AND s.tbl_name IN ('events', 'deliveries', 'attempts')
         GROUP BY 1 HAVING bytes > 1 ORDER BY 2 DESC`,
      )
      .all();
  } finally {
    db.close();
  }
}

/** What an event costs a server while events are published for so long, and how long they take to arrive. */
async function costs(scene: Scene, seconds: number) {
  const { pid } = scene.onAir;
  const [before, start] = [written(pid), used(pid)];
  const { p50Ms, p99Ms, arrivedShare } = await latencyAt(scene, { perSecond, ...toEachInTurn, seconds });
  const [after, end, events] = [written(pid), used(pid), perSecond * seconds];
  return {
    cpuMs: (end.cpuMs - start.cpuMs) / events,
    mainMs: (end.mainMs - start.mainMs) / events,
    engineMs: (end.engineMs - start.engineMs) / events,
    bunMs: (end.bunMs - start.bunMs) / events,
    waits: (end.waits - start.waits) / events,
    calls: (after.calls - before.calls) / events,
    bytes: (after.bytes - before.bytes) / events,
    toDisk: (after.toDisk - before.toDisk) / events,
    p50Ms,
    p99Ms,
    arrivedShare,
  };
}

type Costs = Awaited<ReturnType<typeof costs>>;
const kilobytes = (count: number) => `${(count / 1000).toFixed(1)} kB`;
const row = (name: string, of: Costs, atRest: string) => [
  name,
  milliseconds(of.cpuMs),
  milliseconds(of.mainMs),
  milliseconds(of.engineMs),
  milliseconds(of.bunMs),
  of.waits.toFixed(1),
  of.calls.toFixed(1),
  kilobytes(of.bytes),
  kilobytes(of.toDisk),
  atRest,
  milliseconds(of.p50Ms),
  milliseconds(of.p99Ms),
];

export const steady: Part = (bench) =>
  withScene(bench, { name: "steady", applications }, async (scene) => {
    const bare = await bareScene(bench, scene);
    await costs(scene, settlesAfterSeconds);
    await costs(bare, bareSettlesAfterSeconds);
    const both = await inRounds(bench.rounds, async () => ({
      onAir: await costs(scene, bench.seconds),
      bare: await costs(bare, bench.seconds),
    }));
    await bare.onAir.stop("SIGKILL");
    const rounds = both.map((one) => one.onAir);
    const bareRounds = both.map((one) => one.bare);
    const { cpuMs, bytes, p99Ms, arrivedShare } = medians(rounds);
    const stored = kept(scene.data);
    for (const { name, bytes } of stored) bench.say(`${Math.round(bytes)} bytes of an event in ${name}`);
    const total = stored.reduce((sum, { bytes }) => sum + bytes, 0);
    return {
      shown: table([
        [
          `One of ${perSecond} events a second`,
          "CPU",
          "main",
          "engine",
          "Bun's",
          "waits",
          "writes",
          "written",
          "to the disk",
          "kept",
          "p50",
          "p99",
        ],
        row("On Air", medians(rounds), kilobytes(total)),
        row("the bare program", medians(bareRounds), ""),
      ]),
      figures: { rounds, bare: bareRounds, kept: stored },
      goals: [
        below("CPU", cpuMs, goal.cpuMs, { as: milliseconds }),
        below("written", bytes, goal.writtenBytes, { as: kilobytes }),
        below("publishing to arrival, p99", p99Ms, goal.p99Ms, {
          as: milliseconds,
          counts: arrivedShare === 1,
        }),
      ],
    };
  });
