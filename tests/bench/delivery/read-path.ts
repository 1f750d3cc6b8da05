import { newToken } from "../support/onair.ts";
import { usernameOf } from "../support/platform.ts";
import { Reader, type Reads } from "../support/reader.ts";
import { milliseconds, whole } from "../support/report.ts";
import { median } from "../support/rounds.ts";
import { inRounds, type Section, withScene } from "./section.ts";
import { deliverFor } from "./throughput.ts";

const applications = 100;
const usersAsked = 100;
const goalRatio = 2;

/** Until then a server that has just started compiles its program, which is no part of what is asked here. */
const settlesAfterSeconds = 10;

export const readPath: Section = {
  name: "read-path",
  title: "Get User, 500 a second",
  measure: (bench) =>
    withScene(bench, { name: "read-path", applications }, async (scene) => {
      const names = Array.from({ length: usersAsked }, (_, i) => usernameOf(i));
      const reader = await Reader.start(scene.onAir, await newToken(scene.onAir), names);
      const read = (seconds: number) => reader.read(seconds);
      const seconds = Math.min(bench.seconds, 4);
      await read(2);
      await deliverFor(scene, settlesAfterSeconds);
      const rounds = await inRounds(bench, async () => {
        const idle = await read(seconds);
        let loaded: Reads | null = null;
        const { perSecond } = await deliverFor(scene, seconds, async () => {
          loaded = await read(seconds);
        });
        return { idle, loaded: loaded as unknown as Reads, deliveriesPerSecond: perSecond };
      });
      await reader.server.stop();
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
          row(reader.isFirst ? "idle" : "idle (times include waits of the client for its core)", "idle"),
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
