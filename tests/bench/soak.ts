import { join } from "node:path";
import { serve } from "../support/process.ts";
import { drifts, sampled } from "./soak/drift.ts";
import { Past, SoakLoad } from "./soak/load.ts";
import { type Bench, benchmark, type Outcome } from "./support/bench.ts";
import { table, whole } from "./support/report.ts";

/*
 * Mixed load for a long time, with checks that memory, descriptors, disk use and latency stay stable:
 * bun tests/bench/soak.ts --help
 */

const about = `
One server with its defaults, and at the same time: profiles, searches and categories are read, events published and
delivered to endpoints that are prompt, slow, failing or gone, streams read and reopened, applications and subscriptions
created and deleted, users changed, livestreams reported, backups made. Before that the same amount is published with a
clock of a week ago, by libfaketime, so that retention removes as much as arrives. Samples are taken every 5 seconds, or a
thousand times in all. Exits with 1 if a metric rises beyond its limit, the log has an error, an answer was unexpected, or
an event did not arrive.
`;

/** Everything else is in proportion. */
const eventsPerSecond = 20;

async function soak({ executable, directory, say }: Bench, minutes: number): Promise<Outcome> {
  const data = join(directory, "data");
  const log = join(directory, "log");
  const args = [
    "--data",
    data,
    "--allow-private-webhooks",
    "--rate-limit",
    "10000000",
    "--keep-backups",
    "1",
  ];
  const command = [executable];
  const seconds = minutes * 60;
  const warmUpSeconds = seconds / 3;

  const load = new SoakLoad(eventsPerSecond);
  const past = Past.isPossible ? new Past(seconds + warmUpSeconds, join(directory, "clock")) : null;
  if (past === null)
    say("libfaketime is not installed: NOTHING IS OLD ENOUGH TO BE REMOVED, the database grows");
  const first = await serve(args, { command, env: past?.environment ?? {} });
  await load.prepare(first);
  if (past !== null) await past.publish(load, first);
  await first.end("SIGTERM");

  const server = await serve(args, { command, log });
  say(`warming up for ${whole(warmUpSeconds)} s, then measuring for ${whole(seconds)} s`);
  load.start(server);
  const samples = await sampled(load, { pid: server.pid, data, seconds, warmUpSeconds, say });
  const { done, arrived, lost, unexpected } = await load.stop();
  const code = await server.end("SIGTERM");
  const errors = (await Bun.file(log).text()).split("\n").filter((line) => line !== "");

  const metrics = drifts(samples);
  const counts = Object.entries(done).map(([name, count]) => `${whole(count)} ${name}`);
  return {
    shown: `${table([
      ["", "at first", "at last", "drift", "limit", ""],
      ...metrics.map(({ name, unit, first, last, drift, limit, isFlat }) => [
        name,
        ...[first, last, drift, limit].map((value) => `${value.toFixed(unit === "" ? 0 : 1)} ${unit}`.trim()),
        isFlat ? "flat" : "RISES",
      ]),
    ])}\ndone: ${counts.join(", ")}; ${whole(arrived)} deliveries arrived`,
    figures: { removesOld: past !== null, done, arrived, lost, metrics },
    problems: [
      ...metrics.filter(({ isFlat }) => !isFlat).map(({ name }) => `${name} rises`),
      ...(lost > 0 ? [`${lost} events did not arrive`] : []),
      ...unexpected,
      ...(errors.length > 0 ? [`${errors.length} lines of errors in the log, the first: ${errors[0]}`] : []),
      ...(code === 0 ? [] : [`the server ended with ${code}`]),
    ],
  };
}

await benchmark(
  {
    about,
    options: {
      minutes: {
        default: 60,
        most: 10_000,
        help: "how long it is measured, after a third more of warming up",
      },
    },
    ofExecutable: true,
  },
  (bench, { minutes }) => bench.measure("soak", () => soak(bench, minutes)),
);
