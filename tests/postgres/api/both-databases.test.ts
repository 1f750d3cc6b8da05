import { describe, test } from "bun:test";
import { Pair } from "../../support/both-databases/pair.ts";
import { compare } from "../../support/both-databases/run.ts";
import { hasPostgres } from "../../support/postgres.ts";

/*
 * Random requests to two servers, one with its data in SQLite and one in PostgreSQL: they must give the same answers.
 * `ONAIR_TEST_SEED=7` makes the requests of that seed again, `ONAIR_COMPARE_SECONDS=600` goes on for so long.
 */

const seed = Number(process.env["ONAIR_TEST_SEED"] ?? Math.floor(Math.random() * 1e9));
const seconds = Number(process.env["ONAIR_COMPARE_SECONDS"] ?? 12);

describe.skipIf(!hasPostgres)("on either database", () => {
  test(
    `the same requests get the same answers (seed ${seed})`,
    async () => {
      const pair = await Pair.start();
      try {
        await compare(pair, seed, seconds * 1_000);
      } catch (error) {
        throw new Error(`Seed ${seed}, request ${pair.calls}`, { cause: error });
      } finally {
        await pair.stop();
      }
    },
    (seconds + 120) * 1_000,
  );
});
