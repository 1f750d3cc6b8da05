import { Database } from "bun:sqlite";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { cpuNanoseconds } from "../support/processes.ts";
import { milliseconds } from "../support/report.ts";
import { median } from "../support/rounds.ts";
import { latencyAt } from "./latency.ts";
import { broadcasters, ownBroadcasters } from "./platform.ts";
import { bareScene, inRounds, type Scene, type Section, withScene } from "./section.ts";

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

export const steady: Section = {
  name: "steady",
  title: `${perSecond} events a second, one delivery each: what an event costs`,
  measure: (bench) =>
    withScene(bench, { name: "steady", applications }, async (scene) => {
      const broadcaster = (n: number) => broadcasters.ownOf(n % ownBroadcasters);
      const pace = { perSecond, each: 1, broadcaster };
      const round = async (of: Scene, seconds: number) => {
        const { pid } = of.onAir;
        const [before, cpu] = [written(pid), cpuNanoseconds(pid)];
        const latency = await latencyAt(of, { ...pace, seconds });
        const [after, events] = [written(pid), perSecond * seconds];
        return {
          cpuMs: (cpuNanoseconds(pid) - cpu) / 1e6 / events,
          calls: (after.calls - before.calls) / events,
          bytes: (after.bytes - before.bytes) / events,
          toDisk: (after.toDisk - before.toDisk) / events,
          p50Ms: latency.p50Ms,
          p99Ms: latency.p99Ms,
          arrivedShare: latency.arrivedShare,
        };
      };
      const bare = await bareScene(bench, scene);
      await round(scene, settlesAfterSeconds);
      await round(bare, bareSettlesAfterSeconds);
      const both = await inRounds(bench, async () => ({
        onAir: await round(scene, bench.seconds),
        bare: await round(bare, bench.seconds),
      }));
      await bare.onAir.stop("SIGKILL");
      const rounds = both.map(({ onAir }) => onAir);
      const bareRounds = both.map(({ bare }) => bare);
      const of = (figure: keyof (typeof rounds)[number], all = rounds) =>
        median(all.map((one) => one[figure]));
      const [cpuMs, bytes, p99Ms] = [of("cpuMs"), of("bytes"), of("p99Ms")];
      const stored = kept(scene.data);
      const total = stored.reduce((sum, { bytes }) => sum + bytes, 0);
      bench.say(
        stored.map(({ name, bytes }) => `${Math.round(bytes)} bytes of an event in ${name}`).join("\n"),
      );
      const kilobytes = (count: number) => `${(count / 1000).toFixed(1)} kB`;
      const row = (name: string, all: typeof rounds, atRest: string) => [
        name,
        milliseconds(of("cpuMs", all)),
        of("calls", all).toFixed(1),
        kilobytes(of("bytes", all)),
        kilobytes(of("toDisk", all)),
        atRest,
        milliseconds(of("p50Ms", all)),
        milliseconds(of("p99Ms", all)),
      ];
      return {
        rows: [
          ["an event", "CPU", "writes", "written", "to the disk", "kept", "p50", "p99"],
          row("On Air", rounds, kilobytes(total)),
          row("the bare program", bareRounds, ""),
        ],
        figures: { rounds, bare: bareRounds, kept: stored },
        goals: [
          { text: `CPU ${milliseconds(cpuMs)}, goal ${goal.cpuMs} ms`, met: cpuMs <= goal.cpuMs },
          {
            text: `written ${kilobytes(bytes)}, goal ${kilobytes(goal.writtenBytes)}`,
            met: bytes <= goal.writtenBytes,
          },
          {
            text: `publishing to arrival: p99 ${milliseconds(p99Ms)}, goal ${goal.p99Ms} ms`,
            met: of("arrivedShare") === 1 && p99Ms < goal.p99Ms,
          },
        ],
      };
    }),
};
