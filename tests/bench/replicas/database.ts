import { SQL } from "bun";
import { startPostgres } from "../../support/postgres-server.ts";
import { familyOf, hold } from "../support/processes.ts";

/** A PostgreSQL of the benchmark's own, whose commits are synced, with a database for On Air. */
export interface Database {
  readonly url: string;
  /** The process that starts all others of it. */
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts one. `cpus`: the cores that it is held to, as `taskset` takes them; else those of this process. */
export async function startDatabase(cpus?: string): Promise<Database> {
  const server = await startPostgres(["fsync=on", "shared_buffers=256MB"]);
  const sql = new SQL(server.url("postgres"), { max: 1 });
  await sql.unsafe("CREATE DATABASE onair");
  await sql.close();
  if (cpus !== undefined) for (const pid of familyOf(server.pid).keys()) hold(pid, cpus);
  return { url: server.url("onair"), pid: server.pid, stop: () => server.stop() };
}
