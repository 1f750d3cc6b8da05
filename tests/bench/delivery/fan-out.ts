import { channelFollowed } from "../../../src/domain/events/built-in.ts";
import { subscribe } from "../../support/publishing.ts";
import { BenchError, peakResidentBytes } from "../support/processes.ts";
import {
  below,
  inRounds,
  median,
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

const applications = 1_000;
/** One in so many applications gets the events, where few do. */
const ofFew = 50;
const eventsOfRound = 20;
const madeAtOnce = 32;
/** Until then the server still compiles what it does. */
const filteredSettlingRounds = 3;
const filtersGoal = { allMatch: 1.5, fewMatch: 1 };

/** Event types with the same payload, to which all applications are subscribed, and the pattern that each has for it. */
const types: Readonly<Record<Which, (index: number) => string | null>> = {
  none: () => null,
  all: (index) => `^(?:[\\w-]+|other${index})$`,
  few: (index) => (index % ofFew === 0 ? types.all(index) : `^!${index}\\b`),
};
type Which = "none" | "all" | "few";
const all = Object.keys(types) as Which[];
const nameOf = (which: Which) => `bench.${which}`;

/** What filters cost: an event to a thousand applications without filters, with a pattern each, and where few match. */
export const filters: Part = (bench) =>
  withScene(bench, { name: "filters", applications: 0 }, async (scene) => {
    bench.say(`Making ${applications} applications with their filters`);
    await makeApplications(scene, bench.receiverPort);
    // The types take turns, so that what disturbs the machine disturbs all of them.
    const round = async () => {
      const took: Record<Which, number[]> = { none: [], all: [], few: [] };
      for (let event = 0; event < eventsOfRound; event++)
        for (const which of all) took[which].push(await publishFiltered(scene, which));
      return { none: median(took.none), all: median(took.all), few: median(took.few) };
    };
    await inRounds(filteredSettlingRounds, round);
    const rounds = await inRounds(bench.rounds, round);
    const ratios = rounds.map(({ none, all, few }) => ({ all: all / none, few: few / none }));
    const { all: allMatch, few: fewMatch } = medians(ratios);
    const times = medians(rounds);
    return {
      shown: table([
        [`One event to ${applications} applications`, "acknowledged", "of that without filters"],
        ["without filters", milliseconds(times.none), ""],
        ["a pattern each, all match", milliseconds(times.all), allMatch.toFixed(2)],
        [`a pattern each, one in ${ofFew} matches`, milliseconds(times.few), fewMatch.toFixed(2)],
      ]),
      figures: { rounds },
      goals: [
        below("with a pattern each, all of which match", allMatch, filtersGoal.allMatch),
        below(`with a pattern each, of which one in ${ofFew} matches`, fewMatch, filtersGoal.fewMatch),
      ],
    };
  });

async function makeApplications({ onAir }: Scene, receiverPort: number): Promise<void> {
  const schema = { type: "object" };
  for (const which of all) {
    const type = { version: 1, schema, example: channelFollowed.example };
    const answer = await onAir.admin("PUT", `/admin/v1/event-types/${nameOf(which)}`, type);
    if (!answer.ok) throw new BenchError(`An event type is refused: ${await answer.text()}`);
  }
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < applications; index = next++) {
      const filters = Object.fromEntries(
        all.flatMap((which) => {
          const pattern = types[which](index);
          return pattern === null ? [] : [[nameOf(which), { follower: { username: { $regex: pattern } } }]];
        }),
      );
      const webhook_url = `http://127.0.0.1:${receiverPort}/hook/${index}`;
      const app = await onAir.application({ webhook_url, filters });
      await subscribe(onAir, app, all.map(nameOf), broadcasters.everyones);
    }
  };
  await Promise.all(Array.from({ length: madeAtOnce }, worker));
}

/** Publishes one event, waits until all its receivers have it, and gives the time to its acknowledgement. */
async function publishFiltered({ receiver, publishers }: Scene, which: Which): Promise<number> {
  const receivers = which === "few" ? applications / ofFew : applications;
  await receiver.report();
  const event = {
    id: receiver.timedId(),
    name: nameOf(which),
    version: 1,
    broadcaster_user_id: broadcasters.everyones,
    data: channelFollowed.example,
  };
  const { status, body, ms } = await publishers.wire.post("/admin/v1/events", JSON.stringify(event));
  if (status !== 202) throw new BenchError(`On Air does not take an event: ${status} ${body}`);
  await receiver.requireAllOnce(receivers);
  return ms;
}
