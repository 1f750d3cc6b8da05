import { test } from "bun:test";
import fc from "fast-check";
import { hour, minute } from "../../src/domain/time.ts";
import { commands, run } from "../support/engine-model/commands.ts";
import { Platform } from "../support/engine-model/platform.ts";
import { comesToItsEnd } from "../support/engine-model/the-end.ts";
import { holdsLater } from "../support/property.ts";
import { withStore } from "../support/store.ts";

/*
 * A model of the engine: whatever happens around it, in whatever order, its promises hold. `commands.ts` is what may
 * happen, `promises.ts` and `the-end.ts` what is promised. A failure names the seed, and the fewest commands that break
 * a promise, with what was sent. ONAIR_MODEL_RUNS=5000 tries more, ONAIR_TEST_SEED=7 others.
 */

const given = process.env["ONAIR_MODEL_RUNS"];
const numRuns = Number(given ?? 20);
/** The search for the fewest commands ends then; without it, a failure could hold up all other tests for an hour. */
const longestMs = given === undefined ? 2 * minute : hour;

test("the engine keeps its promises", async () => {
  const property = fc.asyncProperty(commands, (all) =>
    withStore(async (opened) => {
      const platform = new Platform(opened);
      const realTime = platform.time.install();
      try {
        await platform.begin();
        for (const one of all) await run(platform, one);
        await comesToItsEnd(platform);
        await platform.end();
      } finally {
        realTime();
      }
    }),
  );
  await holdsLater(property, { numRuns, interruptAfterTimeLimit: longestMs });
}, 3_600_000);
