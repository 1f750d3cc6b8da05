import { test } from "bun:test";
import fc from "fast-check";
import { hour, minute } from "../../src/domain/time.ts";
import { type Command, commands, examples, run } from "../support/engine-model/commands.ts";
import { Platform } from "../support/engine-model/platform.ts";
import { comesToItsEnd } from "../support/engine-model/the-end.ts";
import { holdsLater } from "../support/property.ts";
import { withStore } from "../support/store.ts";

/*
 * A model of the engine: whatever happens around it, in whatever order, its promises hold. `commands.ts` is what may
 * happen, `promises.ts` and `the-end.ts` what is promised. A failure names the seed, and the fewest commands that break
 * a promise, with what was sent. ONAIR_MODEL_RUNS=5000 tries more, ONAIR_MODEL_SEED=7 others.
 */

const given = process.env["ONAIR_MODEL_RUNS"];
const numRuns = Number(given ?? 20);
const seed = process.env["ONAIR_MODEL_SEED"] ?? process.env["ONAIR_TEST_SEED"] ?? "1";
/** All runs and the search for the fewest commands end then, as a failure. */
const longestMs = given === undefined ? 2 * minute : hour;
/** The longest real time of one run. */
const longestRunMs = minute;

test(
  "the engine keeps its promises",
  async () => {
    let hasFailed = false;
    const property = fc.asyncProperty(commands, (all) =>
      withStore(async (opened) => {
        const platform = new Platform(opened);
        const overdue = Promise.withResolvers<never>();
        const limit = setTimeout(
          () => overdue.reject(new Error(`a run is not over after ${longestRunMs / 1_000} s`)),
          longestRunMs,
        );
        try {
          await Promise.race([wholeRun(platform, all), overdue.promise]);
        } catch (error) {
          if (!hasFailed) console.error(`seed ${seed}, the first failure: ${error}\n${fc.stringify(all)}`);
          hasFailed = true;
          throw error;
        } finally {
          clearTimeout(limit);
          platform.kill();
        }
      }),
    );
    await holdsLater(property, {
      numRuns: examples.length + numRuns,
      examples: examples.map((all): [Command[]] => [all]),
      seed: Number(seed),
      interruptAfterTimeLimit: longestMs,
      markInterruptAsFailure: true,
    });
  },
  longestMs + 2 * longestRunMs,
);

async function wholeRun(platform: Platform, all: readonly Command[]): Promise<void> {
  await platform.begin();
  for (const one of all) await run(platform, one);
  await comesToItsEnd(platform);
  await platform.end();
}
