import { describe, expect, test } from "bun:test";
import { type Feedback, Pace } from "../../../src/delivery/pace.ts";
import { minute, second } from "../../../src/domain/time.ts";
import { canStart, latencies, type SimulatedReceiver, Simulation, workers } from "./simulated-endpoint.ts";

const max = 128;

/** An endpoint whose attempts take as long as the test says, on a clock that stands still otherwise. */
class Endpoint {
  readonly pace = new Pace({ max });
  at = 1_000_000;

  /** Runs as many attempts as the pace allows; all have the same outcome. */
  round(durationMs: number, outcome: Partial<Feedback> = {}): void {
    const startedAt = this.at;
    this.at += durationMs;
    const count = this.pace.limit;
    this.pace.inFlight = count;
    for (let i = 0; i < count; i++) {
      this.pace.inFlight--;
      this.ends(startedAt, outcome);
    }
  }
  ends(startedAt: number, outcome: Partial<Feedback> = {}): void {
    const base = { isSuccess: true, isThrottled: false, retryAfterMs: null, random: 0.5 };
    this.pace.learn({ ...base, startedAt, at: this.at, ...outcome });
  }
  rounds(count: number, durationMs: number, outcome: Partial<Feedback> = {}): void {
    for (let i = 0; i < count; i++) this.round(durationMs, outcome);
  }
}

const failed = { isSuccess: false };
const refused = { isSuccess: false, isThrottled: true };

describe("concurrency", () => {
  test("doubles with each round, up to its bound", () => {
    const endpoint = new Endpoint();
    const limits = [endpoint.pace.limit];
    for (let i = 0; i < 5; i++) {
      endpoint.round(20);
      limits.push(endpoint.pace.limit);
    }
    expect(limits).toEqual([8, 16, 32, 64, max, max]);
  });

  test("does not grow while it is not used", () => {
    const endpoint = new Endpoint();
    for (let i = 0; i < 1_000; i++) endpoint.ends(endpoint.at++);
    expect(endpoint.pace.limit).toBe(8);
  });

  test("halves when the endpoint refuses, once for attempts that ran together", () => {
    const endpoint = new Endpoint();
    endpoint.rounds(5, 20);
    const startedAt = endpoint.at;
    endpoint.at += 20;
    endpoint.pace.inFlight = max;
    for (let i = 0; i < 50; i++) {
      endpoint.pace.inFlight--;
      endpoint.ends(startedAt, refused);
    }
    expect(endpoint.pace.limit).toBe(max / 2);
    expect(endpoint.pace.isOpen).toBe(false);
  });

  test("then grows to nine tenths of the refused concurrency, and slowly beyond it at first", () => {
    const endpoint = new Endpoint();
    endpoint.rounds(5, 20);
    endpoint.pace.inFlight = 99;
    endpoint.ends(endpoint.at, refused);
    const since = endpoint.at;
    endpoint.rounds(40, 20);
    expect(endpoint.pace.limit).toBe(90);
    endpoint.at = since + 6 * second;
    endpoint.rounds(3, 20);
    expect(endpoint.pace.limit).toBe(93);
    endpoint.at = since + 40 * second;
    endpoint.rounds(10, 20);
    expect(endpoint.pace.limit).toBe(max);
  });

  test.each<[string, number, number]>([
    ["halves when more than a tenth of a round fails", 7, max / 2],
    ["stays when less of it does", 13, max],
  ])("%s", (_, oneIn, limit) => {
    const endpoint = new Endpoint();
    endpoint.rounds(5, 20);
    const startedAt = endpoint.at;
    endpoint.at += 20;
    for (let i = 1; i <= max; i++) endpoint.ends(startedAt, i % oneIn === 0 ? failed : {});
    expect(endpoint.pace.limit).toBe(limit);
  });

  test("shrinks when a whole round is slower than earlier ones", () => {
    const endpoint = new Endpoint();
    endpoint.rounds(20, 20);
    endpoint.rounds(5, 500);
    expect(endpoint.pace.limit).toBeLessThan(max / 2);
    expect(endpoint.pace.limit).toBeGreaterThanOrEqual(8);
  });

  test("does not shrink for single answers that are slow", () => {
    const endpoint = new Endpoint();
    endpoint.rounds(20, 20);
    for (let i = 0; i < 40 * max; i++) {
      endpoint.pace.inFlight = max - 1;
      endpoint.at++;
      endpoint.ends(endpoint.at - (i % 30 === 0 ? 5_000 : 20));
    }
    expect(endpoint.pace.limit).toBe(max);
  });

  test("does not shrink for answers that always take long", () => {
    const endpoint = new Endpoint();
    endpoint.rounds(10, 2_000);
    expect(endpoint.pace.limit).toBe(max);
  });

  test("is at least one", () => {
    const endpoint = new Endpoint();
    endpoint.rounds(40, 20, refused);
    expect(endpoint.pace.limit).toBe(1);
  });

  test("and latency give the attempts a second", () => {
    const endpoint = new Endpoint();
    expect(endpoint.pace.perSecond).toBe(Number.POSITIVE_INFINITY);
    endpoint.rounds(10, 500);
    expect(endpoint.pace.perSecond).toBeCloseTo(256);
  });

  test("is limited at once by a lower setting", () => {
    const endpoint = new Endpoint();
    endpoint.rounds(5, 20);
    endpoint.pace.max = 3;
    expect(endpoint.pace.limit).toBe(3);
    endpoint.pace.max = 1_000;
    endpoint.rounds(100, 20);
    expect(endpoint.pace.limit).toBe(1_000);
  });
});

describe("the circuit", () => {
  test("opens after five failures in a row, for 5 s, and then lets one through", () => {
    const endpoint = new Endpoint();
    for (let i = 0; i < 4; i++) endpoint.ends(endpoint.at, failed);
    expect(canStart(endpoint.pace, endpoint.at)).toBe(true);
    endpoint.ends(endpoint.at, failed);
    expect([endpoint.pace.isOpen, endpoint.pace.limit]).toEqual([true, 1]);
    expect(canStart(endpoint.pace, endpoint.at + 5 * second - 1)).toBe(false);
    expect(canStart(endpoint.pace, endpoint.at + 5 * second)).toBe(true);
    endpoint.pace.inFlight = 1;
    expect(canStart(endpoint.pace, endpoint.at + 5 * second)).toBe(false);
  });

  test("waits twice as long after each probe that fails, up to five minutes", () => {
    const endpoint = new Endpoint();
    for (let i = 0; i < 5; i++) endpoint.ends(endpoint.at, failed);
    const waits = [];
    for (let i = 0; i < 9; i++) {
      waits.push((endpoint.pace.resumeAt - endpoint.at) / second);
      endpoint.at = endpoint.pace.resumeAt;
      endpoint.ends(endpoint.at, failed);
    }
    expect(waits).toEqual([5, 10, 20, 40, 80, 160, 300, 300, 300]);
  });

  test("is not opened wider by attempts that had begun before", () => {
    const endpoint = new Endpoint();
    const startedAt = endpoint.at;
    endpoint.at += 15 * second;
    for (let i = 0; i < 8; i++) endpoint.ends(startedAt, failed);
    expect(endpoint.pace.resumeAt - endpoint.at).toBe(5 * second);
  });

  test("closes with one success, and concurrency grows again from one", () => {
    const endpoint = new Endpoint();
    for (let i = 0; i < 5; i++) endpoint.ends(endpoint.at, failed);
    endpoint.at = endpoint.pace.resumeAt;
    endpoint.ends(endpoint.at);
    expect([endpoint.pace.isOpen, endpoint.pace.limit]).toEqual([false, 2]);
    endpoint.rounds(2, 20);
    expect(endpoint.pace.limit).toBe(8);
  });

  test("failures with a success among them do not open it", () => {
    const endpoint = new Endpoint();
    for (let i = 0; i < 30; i++) endpoint.ends(endpoint.at, i % 5 === 4 ? {} : failed);
    expect(endpoint.pace.isOpen).toBe(false);
  });

  test("is jittered by a fifth either way, in whole milliseconds", () => {
    const waits = [0, 0.123456, 1].map((random) => {
      const endpoint = new Endpoint();
      for (let i = 0; i < 5; i++) endpoint.ends(endpoint.at, { isSuccess: false, random });
      return endpoint.pace.resumeAt - endpoint.at;
    });
    expect(waits).toEqual([4 * second, 4_247, 6 * second]);
  });
});

describe("an endpoint that has too much to do", () => {
  test.each<[string, number | null, number]>([
    ["is left alone for a second", null, second],
    ["is left alone for as long as it asks", minute, minute],
    ["is left alone for a second when it asks for less", 0, second],
  ])("%s", (_, retryAfterMs, wait) => {
    const endpoint = new Endpoint();
    endpoint.ends(endpoint.at, { isSuccess: false, isThrottled: true, retryAfterMs });
    expect(endpoint.pace.resumeAt - endpoint.at).toBe(wait);
  });

  test("also while others of its answers are good", () => {
    const endpoint = new Endpoint();
    endpoint.ends(endpoint.at, { isSuccess: false, isThrottled: true, retryAfterMs: minute });
    endpoint.ends(endpoint.at);
    expect(endpoint.pace.resumeAt - endpoint.at).toBe(minute);
  });

  test("is probed with one where a person asks meanwhile, and grows again from that", () => {
    const endpoint = new Endpoint();
    endpoint.rounds(10, 100);
    const { limit } = endpoint.pace;
    // Nothing holds it up.
    endpoint.pace.resume(endpoint.at);
    expect(endpoint.pace.limit).toBe(limit);
    endpoint.round(100, { ...refused, retryAfterMs: minute });
    expect(canStart(endpoint.pace, endpoint.at)).toBe(false);
    endpoint.pace.resume(endpoint.at);
    expect([endpoint.pace.limit, canStart(endpoint.pace, endpoint.at)]).toEqual([1, true]);
    endpoint.at++;
    endpoint.rounds(3, 100);
    expect(endpoint.pace.limit).toBe(8);
    endpoint.round(100, { ...refused, retryAfterMs: minute });
    expect(endpoint.pace.resumeAt - endpoint.at).toBe(minute);
  });

  test("for as long when the clock was moved meanwhile", () => {
    const endpoint = new Endpoint();
    endpoint.ends(endpoint.at, { isSuccess: false, isThrottled: true, retryAfterMs: minute });
    endpoint.pace.shift(-60 * minute);
    expect(endpoint.pace.resumeAt - (endpoint.at - 60 * minute)).toBe(minute);
  });
});

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
    ["log-normal, median 50 ms, sigma 1.5", latencies.logNormal(50, 1.5)],
    ["Pareto, from 30 ms, shape 1.1, some never in time", latencies.pareto(30, 1.1)],
    ["uniform, of which one in a hundred fails", withFailures(latencies.uniform(50, 200), 0.01)],
  ])("%s: gets seven tenths of the possible throughput", (_, receiver, forMs = 30 * second) => {
    for (const seed of [1, 2]) {
      const run = new Simulation(receiver, { seed }).run(forMs);
      expect(shareOfPossible(run.delivered, forMs, run.meanLatencyMs)).toBeGreaterThan(0.7);
    }
  });
});

function withFailures(receiver: SimulatedReceiver, share: number): SimulatedReceiver {
  return (at, random) => ({ ...receiver(at, random), status: random() < share ? 500 : 204 });
}

describe("an overloaded receiver that is simulated for a minute", () => {
  test.each([5, 50, 1_000])(
    "4 at a time of %p ms and 503 beyond a queue of 40: refuses less than a tenth and is kept busy",
    (ms) => {
      for (const seed of [1, 2]) {
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
