import { cpuSeconds, peakResidentBytes } from "../support/processes.ts";
import { megabytes, milliseconds, whole } from "../support/report.ts";
import { median, percentile } from "../support/rounds.ts";
import { Wire } from "../support/wire.ts";
import { broadcasters, requireAllOnce } from "./platform.ts";
import { inRounds, type Scene, type Section, withScene } from "./section.ts";

/** One application has one subscription to a broadcaster's event: so many subscriptions are as many endpoints. */
export const manyApplications = 10_000;

const pollMs = 5;
/** Until then the server still compiles what it does. */
const settlingRounds = 5;
const goal = { acknowledgedMs: 100, heldMs: 20 };

interface FanOut {
  readonly acknowledgedMs: number;
  /** The longest that `GET /healthz`, asked every 5 ms, took meanwhile. */
  readonly heldMs: number;
  readonly healthP99Ms: number;
  /** From publishing to the last arrival. */
  readonly allArrivedMs: number;
  readonly cpuSeconds: number;
}

export const fanOut: Section = {
  name: "fan-out",
  title: `One event to ${whole(manyApplications)} subscriptions`,
  measure: (bench) =>
    withScene(bench, { name: "fan-out", applications: manyApplications }, async (scene) => {
      for (let i = 0; i < settlingRounds; i++) await publishOne(scene);
      const rounds = await inRounds(bench, () => publishOne(scene));
      const of = (figure: keyof FanOut) => median(rounds.map((round) => round[figure]));
      const [acknowledgedMs, heldMs] = [of("acknowledgedMs"), of("heldMs")];
      const peakBytes = peakResidentBytes(scene.onAir.pid);
      return {
        rows: [
          ["", "acknowledged", "loop held", "healthz p99", "all arrived", "deliveries/s", "peak RSS"],
          [
            "On Air",
            milliseconds(acknowledgedMs),
            milliseconds(heldMs),
            milliseconds(of("healthP99Ms")),
            milliseconds(of("allArrivedMs")),
            whole((manyApplications / of("allArrivedMs")) * 1000),
            megabytes(peakBytes),
          ],
        ],
        figures: { rounds, peakBytes },
        goals: [
          {
            text: `acknowledged after ${milliseconds(acknowledgedMs)}, goal ${goal.acknowledgedMs} ms`,
            met: acknowledgedMs < goal.acknowledgedMs,
          },
          {
            text: `event loop held ${milliseconds(heldMs)}, goal ${goal.heldMs} ms`,
            met: heldMs <= goal.heldMs,
          },
        ],
      };
    }),
};

async function publishOne({ onAir, receiver, publishers }: Scene): Promise<FanOut> {
  await receiver.report();
  const health = new Wire(onAir.adminUrl);
  const cpu = cpuSeconds(onAir.pid);
  const took: number[] = [];
  const open = new Set<Promise<unknown>>();
  const timer = setInterval(() => {
    const asking = health.get("/healthz").then(({ ms }) => took.push(ms));
    open.add(asking);
    void asking.finally(() => open.delete(asking));
  }, pollMs);
  await Bun.sleep(100);
  took.length = 0;
  const startedAt = performance.now();
  const acknowledgedMs = await publishers.publish(broadcasters.everyones, receiver.timedId());
  await receiver.waitFor(manyApplications, 30);
  const allArrivedMs = performance.now() - startedAt;
  clearInterval(timer);
  await Promise.all(open);
  health.close();
  await requireAllOnce(receiver, manyApplications);
  return {
    acknowledgedMs,
    heldMs: percentile(took, 1),
    healthP99Ms: percentile(took, 0.99),
    allArrivedMs,
    cpuSeconds: cpuSeconds(onAir.pid) - cpu,
  };
}
