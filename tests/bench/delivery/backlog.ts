import { subscriber } from "../../support/publishing.ts";
import type { OnAir } from "../support/onair.ts";
import { peakResidentBytes, residentBytes } from "../support/processes.ts";
import { Receiver } from "../support/receiver.ts";
import { below, megabytes, milliseconds, table, whole } from "../support/report.ts";
import { newEventId } from "../support/wire.ts";
import { manyApplications } from "./fan-out.ts";
import { latencyAt } from "./latency.ts";
import { broadcasters, type DeliveryBench, dataDirectory, type Part, whileServing } from "./scene.ts";

const goal = { residentBytes: 250 * 2 ** 20, startMs: 2_000, newEventsMs: 250 };
/** New events for the only application that subscribes to this broadcaster. */
export const newcomers = { perSecond: 50, each: 1, broadcaster: () => broadcasters.nobodys };
const drainSeconds = 10;
/** A server that has not published the whole backlog by then is judged by the part that it has. */
const mostFillSeconds = 60;

/**
 * Builds a backlog while the receiver refuses connections. Then the server is killed and restarted, and the receiver
 * comes up while new events for another application are published.
 */
export const backlog: Part = async (bench) => {
  const data = await dataDirectory(bench, manyApplications, "backlog");
  const filled = await fill(bench, data);
  bench.say("Starting again with the backlog");
  return whileServing(bench, data, async ({ onAir, publishers, startMs }) => {
    const startBytes = residentBytes(onAir.pid);
    const receiver = await Receiver.start(bench.receiverPort);
    const latency = await latencyAt({ receiver, publishers }, { ...newcomers, seconds: drainSeconds });
    const { arrived, seconds } = latency.all;
    const residentMost = Math.max(filled.residentBytes, startBytes, residentBytes(onAir.pid));
    const peakBytes = Math.max(filled.peakBytes, peakResidentBytes(onAir.pid));
    await receiver.server.stop("SIGKILL");
    const complete = filled.deliveries >= bench.backlog;
    const short = complete ? "" : ` with only ${whole(filled.deliveries)} of ${whole(bench.backlog)}`;
    const time = { as: milliseconds, counts: complete };
    return {
      shown: table([
        ["A backlog", "filled in", "RSS then", "at most", "start", "drained/s", "new events' p50", "p99"],
        [
          `${whole(filled.deliveries)} deliveries`,
          `${filled.seconds.toFixed(1)} s`,
          megabytes(filled.residentBytes),
          megabytes(peakBytes),
          milliseconds(startMs),
          whole(arrived / seconds),
          milliseconds(latency.p50Ms),
          milliseconds(latency.p99Ms),
        ],
      ]),
      figures: { ...filled, startMs, startBytes, residentMost, peakBytes, latency },
      goals: [
        below(`resident memory${short}`, residentMost, goal.residentBytes, {
          as: megabytes,
          counts: complete,
        }),
        below(`ready after${short}`, startMs, goal.startMs, time),
        below(`new events meanwhile, p99${short}`, latency.p99Ms, goal.newEventsMs, time),
      ],
    };
  });
};

function fill(bench: DeliveryBench, data: string) {
  bench.say(`Publishing ${whole(bench.backlog)} deliveries to endpoints that refuse connections`);
  return whileServing(bench, data, async ({ onAir, publishers }) => {
    await addNewcomer(bench, onAir);
    const startedAt = performance.now();
    const passed = () => (performance.now() - startedAt) / 1000;
    let deliveries = 0;
    for (; deliveries < bench.backlog && passed() < mostFillSeconds; deliveries += manyApplications) {
      await publishers.publish(broadcasters.everyones, newEventId());
    }
    const seconds = passed();
    await Bun.sleep(2_000);
    const bytes = { residentBytes: residentBytes(onAir.pid), peakBytes: peakResidentBytes(onAir.pid) };
    return { deliveries, seconds, ...bytes };
  });
}

/** The application of new events. */
export async function addNewcomer({ receiverPort }: DeliveryBench, onAir: OnAir): Promise<void> {
  const webhook_url = `http://127.0.0.1:${receiverPort}/hook/newcomer`;
  const wanted = { event: "channel.followed", broadcasters: [newcomers.broadcaster()] };
  await subscriber(onAir, { webhook_url, ...wanted });
}
