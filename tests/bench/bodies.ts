/* What packing leaves of bodies of events, by type, and what it takes: bun tests/bench/bodies.ts */
import { bodyText, keptBody } from "../../src/store/sqlite/deliveries/bodies.ts";
import { sampleBodies } from "../support/bodies.ts";
import { table } from "./support/report.ts";

const rounds = 20;

/** Microseconds of one call, in the quickest of the rounds. */
function timed(calls: readonly (() => unknown)[]): number {
  const times = Array.from({ length: rounds }, () => {
    const before = performance.now();
    for (const call of calls) call();
    return ((performance.now() - before) * 1000) / calls.length;
  });
  return Math.min(...times);
}

const rows = sampleBodies(200).map(({ type, bodies }) => {
  const kept = bodies.map(keptBody);
  const mean = (of: readonly { readonly length: number }[]) =>
    of.reduce((sum, { length }) => sum + length, 0) / of.length;
  const [before, after] = [mean(bodies.map((body) => Buffer.from(body))), mean(kept)];
  return [
    type,
    before.toFixed(0),
    after.toFixed(0),
    `${((after / before) * 100).toFixed(0)} %`,
    timed(bodies.map((body) => () => keptBody(body))).toFixed(1),
    timed(kept.map((one) => () => bodyText(one))).toFixed(1),
  ];
});
process.stdout.write(
  `${table([["type", "bytes", "kept", "part", "µs to pack", "µs to unpack"], ...rows])}\n`,
);
