import { newToken } from "../support/onair.ts";
import { usernameOf } from "../support/platform.ts";
import { BenchError } from "../support/processes.ts";
import { milliseconds, whole } from "../support/report.ts";
import { median, percentile } from "../support/rounds.ts";
import { atRate, Wire } from "../support/wire.ts";
import { inRounds, type Section, withScene } from "./section.ts";
import { deliverFor } from "./throughput.ts";

const applications = 100;
const requestsPerSecond = 500;
const usersAsked = 100;
const goalRatio = 2;

interface Reads {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

export const readPath: Section = {
  name: "read-path",
  title: "Get User, 500 a second",
  measure: (bench) =>
    withScene(bench, { name: "read-path", applications }, async (scene) => {
      const wire = new Wire(scene.onAir.url, { authorization: `Bearer ${await newToken(scene.onAir)}` });
      const read = (seconds: number) => readUsers(wire, seconds);
      const seconds = Math.min(bench.seconds, 4);
      await read(2);
      await deliverFor(scene, 1);
      const rounds = await inRounds(bench, async () => {
        const idle = await read(seconds);
        let loaded: Reads | null = null;
        const { perSecond } = await deliverFor(scene, seconds, async () => {
          loaded = await read(seconds);
        });
        return { idle, loaded: loaded as unknown as Reads, deliveriesPerSecond: perSecond };
      });
      wire.close();
      const of = (state: "idle" | "loaded", figure: keyof Reads) =>
        median(rounds.map((round) => round[state][figure]));
      const row = (name: string, state: "idle" | "loaded") => [
        name,
        milliseconds(of(state, "p50Ms")),
        milliseconds(of(state, "p99Ms")),
        milliseconds(of(state, "maxMs")),
      ];
      const ratio = median(rounds.map(({ idle, loaded }) => loaded.p99Ms / idle.p99Ms));
      const speed = median(rounds.map(({ deliveriesPerSecond }) => deliveriesPerSecond));
      return {
        rows: [
          ["", "p50", "p99", "longest"],
          row("idle", "idle"),
          row(`with ${whole(speed)} deliveries/s`, "loaded"),
        ],
        figures: { rounds, ratio },
        goals: [
          {
            text: `p99 ${ratio.toFixed(1)} times its idle value, goal ${goalRatio}`,
            met: ratio <= goalRatio,
          },
        ],
      };
    }),
};

async function readUsers(wire: Wire, seconds: number): Promise<Reads> {
  const took: number[] = [];
  await atRate(requestsPerSecond, seconds, async (n) => {
    const { status, body, ms } = await wire.get(`/public/v1/users/${usernameOf(n % usersAsked)}`);
    if (status !== 200) throw new BenchError(`Get User answers ${status}: ${body}`);
    took.push(ms);
  });
  return {
    p50Ms: percentile(took, 0.5),
    p99Ms: percentile(took, 0.99),
    maxMs: percentile(took, 1),
  };
}
