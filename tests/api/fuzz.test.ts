import { expect, test } from "bun:test";
import fc from "fast-check";
import { FuzzedPlatform, judged } from "../support/fuzzed-platform.ts";
import { keptLog } from "../support/log.ts";
import { documentedOf } from "../support/requests/documented.ts";
import { inputs } from "../support/requests/inputs.ts";

/*
 * Requests to every operation of both documents, made from the documents: valid ones, ones that are wrong in one place,
 * and nonsense. They are the same each time; `ONAIR_TEST_SEED=7 bun test tests/api/fuzz.test.ts` makes others, and
 * `ONAIR_FUZZ_SECONDS=60` makes those of the seeds from 2 on, for so long.
 */

const seconds = Number(process.env["ONAIR_FUZZ_SECONDS"] ?? 0);
const seed = Number(process.env["ONAIR_TEST_SEED"] ?? (seconds > 0 ? 2 : 1));
const requests = 1_000;

/** The operations that got a request, and those that accepted one, of all seeds. */
const [sent, accepted] = [new Set<string>(), new Set<string>()];
let operations: readonly string[] = [];

/** A new platform, and requests to it. Fails with the smallest request that is answered wrongly. */
async function fuzz(seed: number): Promise<void> {
  const { log, lines } = keptLog("error");
  const platform = await FuzzedPlatform.start(log);
  try {
    const all = await documentedOf(platform.server);
    operations = all.map(({ name }) => name);
    await fc.assert(
      fc.asyncProperty(inputs(all), async (input) => {
        const { name } = input.operation;
        const { status, complaints } = await judged(platform, input);
        if (complaints.length > 0) throw new Error(`${name}: ${complaints.join("; ")}`);
        sent.add(name);
        if (status < 400) accepted.add(name);
      }),
      { seed, numRuns: requests, endOnFailure: true },
    );
    expect((await platform.server.admin("GET", "/readyz")).status).toBe(200);
    expect(await lines()).toEqual([]);
  } finally {
    await platform.server.stop();
  }
}

test(`${requests} requests from the documents of both listeners are answered as documented (seed ${seed})`, async () => {
  const endsAt = performance.now() + seconds * 1000;
  for (let next = seed; next === seed || performance.now() < endsAt; next++) await fuzz(next);
  expect(operations.filter((name) => !sent.has(name))).toEqual([]);
  // Requests that are all refused would try little.
  expect(accepted.size).toBeGreaterThan(operations.length * 0.85);
}, 600_000);
