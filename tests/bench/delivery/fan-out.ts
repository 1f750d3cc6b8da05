import { peakResidentBytes } from "../support/processes.ts";
import {
  below,
  inRounds,
  medians,
  megabytes,
  milliseconds,
  percentile,
  table,
  whole,
} from "../support/report.ts";
import { Wire, whileAsking } from "../support/wire.ts";
import { broadcasters, type Part, type Scene, withScene } from "./scene.ts";

/** Numbers of subscriptions. Each belongs to another application, so they are as many endpoints. */
export const manyApplications = 10_000;

const health = { path: "/healthz", everyMs: 5 };
/** Until then the server still compiles what it does. */
const settlingRounds = 5;
const goal = { acknowledgedMs: 100, heldMs: 20 };

export const fanOut: Part = (bench) =>
  withScene(bench, { name: "fan-out", applications: manyApplications }, async (scene) => {
    await inRounds(settlingRounds, () => publishOne(scene));
    const rounds = await inRounds(bench.rounds, () => publishOne(scene));
    const { acknowledgedMs, heldMs, healthP99Ms, allArrivedMs } = medians(rounds);
    const peakBytes = peakResidentBytes(scene.onAir.pid);
    return {
      shown: table([
        ["One event", "acknowledged", "loop held", "healthz p99", "all arrived", "deliveries/s", "peak RSS"],
        [
          `to ${whole(manyApplications)} subscriptions`,
          ...[acknowledgedMs, heldMs, healthP99Ms, allArrivedMs].map(milliseconds),
          whole((manyApplications / allArrivedMs) * 1000),
          megabytes(peakBytes),
        ],
      ]),
      figures: { rounds, peakBytes },
      goals: [
        below("acknowledged after", acknowledgedMs, goal.acknowledgedMs, { as: milliseconds }),
        below("event loop held for", heldMs, goal.heldMs, { as: milliseconds }),
      ],
    };
  });

/** Publishes one event, waits until all endpoints have it, and requests the server's health meanwhile. */
async function publishOne({ onAir, receiver, publishers }: Scene) {
  await receiver.report();
  const wire = new Wire(onAir.adminUrl);
  await whileAsking(wire, health, () => Bun.sleep(100)); // connections are open
  const startedAt = performance.now();
  let [acknowledgedMs, allArrivedMs] = [0, 0];
  const took = await whileAsking(wire, health, async () => {
    acknowledgedMs = await publishers.publish(broadcasters.everyones, receiver.timedId());
    await receiver.waitFor(manyApplications, 30);
    allArrivedMs = performance.now() - startedAt;
  });
  wire.close();
  await receiver.requireAllOnce(manyApplications);
  // The slowest answer bounds the time for which the event loop was blocked.
  return { acknowledgedMs, heldMs: percentile(took, 1), healthP99Ms: percentile(took, 0.99), allArrivedMs };
}
