/*
 * Kills the executable hundreds of times under load and checks that nothing is lost, doubled or out of sequence:
 * bun tests/bench/kills.ts --help
 */
import { killRun } from "../support/kill-run.ts";
import { emptyDatabase } from "../support/postgres.ts";
import { builtExecutable } from "./support/onair.ts";
import { readOptions } from "./support/options.ts";
import { seededRandom } from "./support/random.ts";
import { whole } from "./support/report.ts";

const help = `Usage: bun tests/bench/kills.ts [options]

  --kills N          how often the server is killed (default: 300)
  --seed N           of every choice that is made (default: another one each time)
  --postgres         run on a PostgreSQL of its own instead of a data directory
  --executable FILE  kill this one instead of dist/onair
  --json             print one line of JSON

Publishers publish again what was not acknowledged; one delivery in fifty is refused at first. At the end, when nothing
is pending any more, every acknowledged event must have reached every subscription, under one webhook-id each, with the
same bytes on every attempt, in a sequence without a gap. Exits with 1 when anything is not so. Some 0.4 s for each kill.
`;

const { kills, seed, postgres, json, executable } = readOptions(help, {
  numbers: { kills: { default: 300 }, seed: { default: Date.now() % 1e6, least: 0 } },
  texts: ["executable"],
  flags: ["postgres", "json"],
});
const command = [await builtExecutable(executable)];
const database = postgres ? await emptyDatabase() : null;
const startedAt = performance.now();
const report = await killRun({
  kills,
  random: seededRandom(seed),
  failing: 0.02,
  ...(database && { database: database.url }),
  run: { command },
  progress(killed, acknowledged, requests) {
    if (json || killed % 25 !== 0) return;
    process.stderr.write(
      `${killed} kills, ${whole(acknowledged)} events acknowledged, ${whole(requests)} requests\n`,
    );
  },
});
const seconds = (performance.now() - startedAt) / 1000;
if (json) process.stdout.write(`${JSON.stringify({ seed, seconds, ...report })}\n`);
else {
  const { acknowledged, deliveries, requests, problems } = report;
  process.stdout.write(
    `${kills} kills in ${seconds.toFixed(0)} s (seed ${seed}): ${whole(acknowledged)} events acknowledged, ` +
      `${whole(deliveries)} deliveries in ${whole(requests)} requests, ${problems.length} broken promises\n`,
  );
  for (const problem of problems.slice(0, 20)) process.stdout.write(`${problem}\n`);
}
process.exit(report.problems.length === 0 ? 0 : 1);
