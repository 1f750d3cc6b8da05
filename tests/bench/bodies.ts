/* The compressed size of event bodies by type, and the time that compression takes: bun tests/bench/bodies.ts */
import { bodyBytes, keptBody } from "../../src/store/sqlite/delivery-rows.ts";
import { sampleBodies } from "../support/bodies.ts";
import { benchmark } from "./support/bench.ts";
import { microseconds, percent, table, whole } from "./support/report.ts";

const rounds = 20;

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Microseconds per call in the fastest round. */
function timed(calls: readonly (() => unknown)[]): number {
  const times = Array.from({ length: rounds }, () => {
    const before = performance.now();
    for (const call of calls) call();
    return ((performance.now() - before) * 1000) / calls.length;
  });
  return Math.min(...times);
}

await benchmark(
  { about: "Ten types, with 200 bodies each; the times are those of the quickest of 20 rounds." },
  (bench) =>
    bench.measure("bodies", async () => {
      const measured = sampleBodies(200).map(({ type, bodies }) => {
        const kept = bodies.map(keptBody);
        return {
          type,
          bytes: mean(bodies.map((body) => Buffer.byteLength(body))),
          kept: mean(kept.map(({ length }) => length)),
          packUs: timed(bodies.map((body) => () => keptBody(body))),
          unpackUs: timed(kept.map((one) => () => bodyBytes(one))),
        };
      });
      return {
        shown: table([
          ["type", "bytes", "kept", "part", "to pack", "to unpack"],
          ...measured.map(({ type, bytes, kept, packUs, unpackUs }) => [
            type,
            ...[bytes, kept].map(whole),
            percent(kept / bytes),
            ...[packUs, unpackUs].map(microseconds),
          ]),
        ]),
        figures: { measured },
      };
    }),
);
