import { describe, expect, test } from "bun:test";
import { minute, second } from "../../src/domain/time.ts";
import { latencies, type SimulatedReceiver, Simulation, workers } from "./fixtures/simulated-endpoint.ts";

// Adaptive concurrency against simulated receivers, on a clock that jumps from event to event.

const max = 128;

/** Share of the deliveries that are possible with this mean latency and all concurrency always in use. */
const shareOfPossible = (delivered: number, ms: number, meanLatencyMs: number) =>
  delivered / ((max / meanLatencyMs) * ms);

describe("a simulated healthy receiver", () => {
  test.each<[string, SimulatedReceiver, forMs?: number]>([
    // As many in 3 seconds as the others in minutes.
    ["at once", latencies.steady(1), 3 * second],
    ["steady, 125 ms", latencies.steady(125)],
    ["uniform, 50 to 200 ms", latencies.uniform(50, 200)],
    ["bimodal, 20 ms and every twentieth 400 ms", latencies.bimodal(20, 400)],
    ["log-normal, median 80 ms, sigma 0.5", latencies.logNormal(80, 0.5)],
    ["log-normal, median 80 ms, sigma 1", latencies.logNormal(80, 1)],
    ["log-normal, median 50 ms, sigma 1.5", latencies.logNormal(50, 1.5)],
    ["Pareto, from 50 ms, shape 2", latencies.pareto(50, 2)],
    ["Pareto, from 50 ms, shape 1.5", latencies.pareto(50, 1.5)],
    ["Pareto, from 30 ms, shape 1.1, some never in time", latencies.pareto(30, 1.1)],
    ["uniform, of which one in a hundred fails", withFailures(latencies.uniform(50, 200), 0.01)],
  ])("%s: gets seven tenths of the possible throughput", (_, receiver, forMs = 30 * second) => {
    for (const seed of [1, 2, 3, 4, 5]) {
      const run = new Simulation(receiver, { seed }).run(forMs);
      expect(shareOfPossible(run.delivered, forMs, run.meanLatencyMs)).toBeGreaterThan(0.7);
    }
  });
});

function withFailures(receiver: SimulatedReceiver, share: number): SimulatedReceiver {
  return (at, random) => ({ ...receiver(at, random), status: random() < share ? 500 : 204 });
}

describe("an overloaded receiver that is simulated for a minute", () => {
  test.each([5, 20, 50, 200, 1_000])(
    "4 at a time of %p ms and 503 beyond a queue of 40: refuses less than a tenth and is kept busy",
    (ms) => {
      for (const seed of [1, 2, 3]) {
        const receiver = workers({ atOnce: 4, queue: 40, serviceMs: (random) => ms * (0.5 + random()) });
        const run = new Simulation(receiver, { seed }).run(minute);
        expect(run.refused / (run.refused + run.delivered)).toBeLessThan(0.1);
        expect(run.delivered / ((4 / ms) * minute)).toBeGreaterThan(0.8);
      }
    },
  );

  test("does not refuse more in its first seconds", () => {
    for (const seed of [1, 2, 3, 4, 5]) {
      const receiver = workers({ atOnce: 4, queue: 40, serviceMs: (random) => 50 * (0.5 + random()) });
      const run = new Simulation(receiver, { seed }).run(2 * second);
      expect(run.refused / (run.refused + run.delivered)).toBeLessThan(0.1);
    }
  });

  test("that refuses nothing but answers too late: is kept busy, and few are late", () => {
    const queue = workers({ atOnce: 4, queue: 4_000, serviceMs: (random) => second * (0.5 + random()) });
    const receiver: SimulatedReceiver = (at, random) => {
      const reply = queue(at, random);
      return reply.latencyMs > 15 * second ? { latencyMs: 15 * second, status: 0 } : reply;
    };
    const run = new Simulation(receiver).run(10 * minute);
    expect(run.delivered / (4 * 600)).toBeGreaterThan(0.8);
    expect(run.failed / (run.failed + run.delivered)).toBeLessThan(0.1);
  });
});

describe("a receiver that changes", () => {
  const changing = (latencyMs: (at: number) => number): SimulatedReceiver => {
    return (at, random) => ({ latencyMs: latencyMs(at) * (0.7 + 0.6 * random()), status: 204 });
  };
  const changeAt = 1_000_000 + 20 * second;

  test.each([
    [20, 100],
    [20, 200],
    [50, 500],
  ])("from %p ms to %p ms for good: has its full concurrency again within half a minute", (before, after) => {
    const simulation = new Simulation(changing((at) => (at < changeAt ? before : after)));
    simulation.run(50 * second);
    const { delivered, meanLatencyMs } = simulation.run(10 * second);
    expect(shareOfPossible(delivered, 10 * second, meanLatencyMs)).toBeGreaterThan(0.7);
  });

  test("to 500 ms for 10 s and back: is spared, and has its full concurrency again within three seconds", () => {
    const simulation = new Simulation(
      changing((at) => (at > changeAt && at < changeAt + 10 * second ? 500 : 20)),
    );
    simulation.run(24 * second);
    expect(simulation.pace.limit).toBeLessThan(max / 2);
    simulation.run(9 * second);
    expect(simulation.pace.limit).toBe(max);
  });

  test("is down behind a proxy that answers 503: the circuit opens, and little is sent meanwhile", () => {
    const simulation = new Simulation((at, random) =>
      at > changeAt ? { latencyMs: 5, status: 503 } : latencies.uniform(50, 200)(at, random),
    );
    simulation.run(20 * second);
    const { refused } = simulation.run(minute);
    expect(simulation.pace.isOpen).toBe(true);
    expect(refused).toBeLessThan(2 * max);
  });
});
