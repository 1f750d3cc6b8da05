/*
 * What the check of the token costs Get User: the same server with and without it, in turn, in one run.
 * bun tests/bench/token-check.ts [seconds of each run] [rounds]: many short ones, because the difference is small
 */
import { join } from "node:path";
import {
  BenchError,
  benchDirectory,
  requireMachine,
  type Server,
  startPinnedServer,
} from "./support/processes.ts";
import { measureInTurn, medianOf, ratioOf, requireSameAnswers } from "./support/rounds.ts";
import { prepareLoad } from "./support/wrk.ts";

const most = 0.05;
const [seconds = 1, rounds = 31] = process.argv.slice(2).map(Number);

async function main(): Promise<void> {
  requireMachine({ wrk: "wrk", taskset: "util-linux" });
  const directory = benchDirectory();
  const start = async (kind: string): Promise<{ server: Server; token: string }> => {
    const program = join(import.meta.dir, "support/token-check-server.ts");
    const command = [process.execPath, program, kind, join(directory, kind)];
    const { server, match } = await startPinnedServer(kind, command, /^ready (\S+) (\S+)\n/);
    return { server, token: match[2] ?? "" };
  };
  const [checked, unchecked] = [await start("checked"), await start("unchecked")];
  const load = await prepareLoad(directory, {
    paths: ["/public/v1/users/somebody"],
    order: new Uint32Array([0]),
    headers: { Authorization: `Bearer ${checked.token}` },
  });
  const contenders = [checked, unchecked].map(({ server }) => ({ name: server.name, server, load }));
  const measured = await measureInTurn(contenders, { rounds, seconds });
  requireSameAnswers(measured, 0.02);
  const [withCheck, without] = measured;
  if (!withCheck || !without) throw new BenchError("nothing was measured");
  const { median, lowest, highest } = ratioOf(withCheck, without, "cpuMicroseconds");
  const cpu = [withCheck, without].map((one) => `${medianOf(one, "cpuMicroseconds").toFixed(2)} µs`);
  const percent = (ratio: number) => `${((1 - ratio) * 100).toFixed(1)} %`;
  process.stdout.write(
    `Get User takes ${cpu[0]} of CPU with the check of the token and ${cpu[1]} without: ` +
      `the check costs ${percent(median)} of the throughput (${percent(highest)} to ${percent(lowest)})\n`,
  );
  if (1 - median > most) process.exitCode = 1;
}

try {
  await main();
} catch (error) {
  process.stderr.write(`${error instanceof BenchError ? error.message : Bun.inspect(error)}\n`);
  process.exitCode = 1;
}
process.exit();
