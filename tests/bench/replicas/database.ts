import { existsSync, readdirSync, readFileSync } from "node:fs";
import { SQL } from "bun";
import { startPostgres } from "../../support/postgres-server.ts";
import { BenchError, cpuSeconds } from "../support/processes.ts";

/** A PostgreSQL of the benchmark's own, whose commits are synced, with a database for On Air. */
export interface Database {
  readonly url: string;
  /** Processor time of all its processes so far, in seconds. */
  cpuSeconds(): number;
  stop(): Promise<void>;
}

/** Starts one. `cpus`: the cores that it is held to, as `taskset` takes them; else those of this process. */
export async function startDatabase(cpus?: string): Promise<Database> {
  const server = await startPostgres(["fsync=on", "shared_buffers=256MB"]);
  const sql = new SQL(server.url("postgres"), { max: 1 });
  await sql.unsafe("CREATE DATABASE onair");
  const [row] = await sql.unsafe("SELECT pg_backend_pid() AS pid");
  const main = parentOf((row as { pid: number }).pid);
  await sql.close();
  if (cpus !== undefined) for (const pid of [main, ...childrenOf(main)]) hold(pid, cpus);
  return {
    url: server.url("onair"),
    cpuSeconds: () => cpuOfFamily(main),
    stop: () => server.stop(),
  };
}

function hold(pid: number, cpus: string): void {
  const { success, stderr } = Bun.spawnSync(["taskset", "--pid", "--cpu-list", cpus, String(pid)], {
    stderr: "pipe",
  });
  // A process of a connection may have ended meanwhile.
  if (!success && existsSync(`/proc/${pid}`)) throw new BenchError(`taskset failed: ${stderr}`);
}

const statOf = (pid: number) =>
  readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
const parentOf = (pid: number) => Number(statOf(pid)[1]);

function childrenOf(main: number): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return parentOf(pid) === main;
      } catch {
        return false; // it has ended
      }
    });
}

/** Processor time of a process and its children, those that have ended included, in seconds. */
function cpuOfFamily(main: number): number {
  const [, , , , , , , , , , , , , ended = "0", endedSystem = "0"] = statOf(main);
  const own = [main, ...childrenOf(main)].reduce((sum, pid) => sum + cpuUnlessEnded(pid), 0);
  return own + (Number(ended) + Number(endedSystem)) / 100;
}

/** 0 for one that has just ended: it counts with the others that have. */
function cpuUnlessEnded(pid: number): number {
  try {
    return cpuSeconds(pid);
  } catch {
    return 0;
  }
}
