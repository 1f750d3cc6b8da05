/*
 * Kills the executable hundreds of times under load and checks that nothing is lost, duplicated or out of sequence:
 * bun tests/bench/kills.ts --help
 */
import { seeded } from "../../src/dev/chance.ts";
import { killRun } from "../support/fault-run.ts";
import { emptyDatabase } from "../support/postgres.ts";
import { benchmark } from "./support/bench.ts";
import { whole } from "./support/report.ts";

const about = `
Publishers repeat events that were not acknowledged, and one delivery in fifty is refused at first. At the end, when nothing
is pending, every acknowledged event must have reached every subscription, under one webhook-id each, with the same bytes
in every attempt, in a sequence without gaps. Exits with 1 if a check fails. Takes some 0.4 s per kill.
`;

await benchmark(
  {
    about,
    options: {
      kills: { default: 300, help: "how often the server is killed" },
      seed: { default: Date.now() % 1e6, least: 0, help: "of every choice that is made" },
      postgres: { default: false, help: "on a PostgreSQL of its own instead of a data directory" },
    },
    ofExecutable: true,
  },
  async (bench, { kills, seed, postgres }) => {
    const database = postgres ? await emptyDatabase() : null;
    await bench.measure("kills", async () => {
      const report = await killRun({
        kills,
        random: seeded(seed),
        failing: 0.02,
        ...(database && { database: database.url }),
        run: { command: [bench.executable] },
        progress(killed, acknowledged, requests) {
          if (killed % 25 !== 0) return;
          bench.say(
            `${killed} kills, ${whole(acknowledged)} events acknowledged, ${whole(requests)} requests`,
          );
        },
      });
      const { acknowledged, deliveries, requests, problems } = report;
      return {
        shown:
          `${kills} kills (seed ${seed}): ${whole(acknowledged)} events acknowledged, ` +
          `${whole(deliveries)} deliveries in ${whole(requests)} requests, ${problems.length} broken promises`,
        figures: report,
        problems,
      };
    });
  },
);
