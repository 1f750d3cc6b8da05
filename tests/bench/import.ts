import { statSync } from "node:fs";
import { join } from "node:path";
import { adminKey } from "../support/server.ts";
import { type Bench, benchmark } from "./support/bench.ts";
import { startOnAir } from "./support/onair.ts";
import { sampleUsers } from "./support/platform.ts";
import { BenchError, cpuSeconds, endWithThis, peakResidentBytes } from "./support/processes.ts";
import { atLeast, below, megabytes, milliseconds, percentile, table, whole } from "./support/report.ts";
import { Wire, whileAsking } from "./support/wire.ts";

/*
 * The duration of `onair import` with a million users, into a data directory and through a running server, and the
 * server's response times during the import: bun tests/bench/import.ts --help
 */

const about = `
No process is pinned to a core. Each way is measured twice, the second time with users that already exist. Needs some 2 GB
in the directory for temporary files.
`;

const health = { path: "/healthz", everyMs: 10 };
const goal = { rowsPerSecond: 1_000_000 / 60, residentBytes: 400e6 } as const;

interface Measured {
  readonly way: string;
  readonly seconds: number;
  readonly rowsPerSecond: number;
  /** Processor time of all processes involved. */
  readonly cpuSeconds: number;
  readonly importerBytes: number;
  readonly serverBytes: number | null;
  readonly databaseBytes: number;
  /** Milliseconds that `GET /healthz` took meanwhile: p50, p99, and at most. */
  readonly health: readonly number[];
}

/** Runs an import to its end. Throws unless all rows are accepted. */
async function runImport({ executable }: Bench, users: number, args: readonly string[]) {
  const startedAt = performance.now();
  const child = Bun.spawn([executable, "import", "users", ...args, "--json"], {
    env: { PATH: process.env["PATH"] ?? "", ONAIR_ADMIN_KEY: adminKey },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  endWithThis(child);
  const { accepted } = JSON.parse((await child.stdout.text()) || "{}") as { accepted?: number };
  await child.exited;
  const seconds = (performance.now() - startedAt) / 1000;
  const usage = child.resourceUsage();
  if (accepted !== users || !usage) throw new BenchError(`The import took ${accepted} of ${users} rows`);
  const cpu = Number(usage.cpuTime.total) / 1e6;
  return { seconds, rowsPerSecond: users / seconds, cpuSeconds: cpu, importerBytes: usage.maxRSS };
}

const databaseBytes = (data: string) => statSync(join(data, "onair.db")).size;

async function intoDirectory(bench: Bench, file: string, users: number): Promise<Measured[]> {
  const data = join(bench.directory, "direct");
  const measure = async (way: string) => {
    const measured = await runImport(bench, users, [file, "--data", data]);
    return { way, ...measured, serverBytes: null, databaseBytes: databaseBytes(data), health: [] };
  };
  return [await measure("into a directory"), await measure("the same again")];
}

async function throughServer(bench: Bench, file: string, users: number): Promise<Measured[]> {
  const data = join(bench.directory, "served");
  const server = await startOnAir(bench, { data, cpus: "0,1" });
  const wire = new Wire(server.adminUrl);
  const measure = async (way: string) => {
    const before = cpuSeconds(server.pid);
    let measured = { seconds: 0, rowsPerSecond: 0, cpuSeconds: 0, importerBytes: 0 };
    const took = await whileAsking(wire, health, async () => {
      measured = await runImport(bench, users, [file, "--url", server.adminUrl]);
    });
    return {
      way,
      ...measured,
      cpuSeconds: measured.cpuSeconds + cpuSeconds(server.pid) - before,
      serverBytes: peakResidentBytes(server.pid),
      databaseBytes: databaseBytes(data),
      health: [0.5, 0.99, 1].map((share) => percentile(took, share)),
    };
  };
  const measured = [await measure("through a server"), await measure("the same again")];
  wire.close();
  await server.stop();
  return measured;
}

async function writeUsers(file: string, users: number): Promise<void> {
  const sink = Bun.file(file).writer({ highWaterMark: 1 << 20 });
  for (const row of sampleUsers(users, "by id")) sink.write(`${JSON.stringify(row)}\n`);
  await sink.end();
}

await benchmark(
  {
    about,
    options: { users: { default: 1_000_000, help: "users to import" } },
    ofExecutable: true,
  },
  async (bench, { users }) => {
    const file = join(bench.directory, "users.ndjson");
    await writeUsers(file, users);
    await bench.measure("import", async () => {
      const measured = [
        ...(await intoDirectory(bench, file, users)),
        ...(await throughServer(bench, file, users)),
      ];
      const bytes = measured.flatMap(({ importerBytes, serverBytes }) => [importerBytes, serverBytes ?? 0]);
      const columns = [
        "rows/s",
        "seconds",
        "CPU s",
        "importer",
        "server",
        "database",
        "healthz p50",
        "p99",
        "longest",
      ];
      return {
        shown: table([
          [`${whole(users)} users`, ...columns],
          ...measured.map((one) => [
            one.way,
            whole(one.rowsPerSecond),
            one.seconds.toFixed(1),
            one.cpuSeconds.toFixed(1),
            megabytes(one.importerBytes),
            one.serverBytes === null ? "" : megabytes(one.serverBytes),
            megabytes(one.databaseBytes),
            ...one.health.map(milliseconds),
          ]),
        ]),
        figures: { measured },
        goals: [
          atLeast(
            "rows a second",
            Math.min(...measured.map((one) => one.rowsPerSecond)),
            goal.rowsPerSecond,
            {
              as: whole,
            },
          ),
          below("memory at most", Math.max(...bytes), goal.residentBytes, { as: megabytes }),
        ],
      };
    });
  },
);
