import { subscriber } from "../../support/publishing.ts";
import { adminKey } from "../../support/server.ts";
import { applicationPages, type OnAir } from "../support/onair.ts";
import { BenchError, peakResidentBytes, residentBytes } from "../support/processes.ts";
import { Receiver } from "../support/receiver.ts";
import { below, megabytes, milliseconds, table, whole } from "../support/report.ts";
import { newEventId, Wire } from "../support/wire.ts";
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
async function addNewcomer({ receiverPort }: DeliveryBench, onAir: OnAir): Promise<void> {
  const webhook_url = `http://127.0.0.1:${receiverPort}/hook/newcomer`;
  const wanted = { event: "channel.followed", broadcasters: [newcomers.broadcaster()] };
  await subscriber(onAir, { webhook_url, ...wanted });
}

/** Of which three in four fail, and of their first retries as well. */
const deliveries = 200_000;
const leastPending = 100_000;
const quietMs = 2_000;
const mostSettleSeconds = 120;
const recoverySeconds = 15;
const mostDrainSeconds = 60;
const recoveryGoal = { startMs: 2_000, newEventsMs: 250 };

/**
 * The receiver answers three of four requests with 500 until everything that still has to be delivered waits for its
 * second retry, minutes away. Then the server is killed and started again, the receiver recovers, and the operator has
 * all endpoints sent to again, while new events for another application are published.
 */
export const retries: Part = async (bench) => {
  const data = await dataDirectory(bench, manyApplications, "retries");
  const receiver = await Receiver.start(bench.receiverPort);
  try {
    const pending = await fail(bench, data, receiver);
    bench.say(`Starting again with ${whole(pending)} retries`);
    return await whileServing(bench, data, async ({ onAir, publishers, startMs }) => {
      await receiver.refuse(false);
      await receiver.report();
      const delivered = untilDelivered(receiver);
      const enabling = enableAll(onAir);
      const latency = await latencyAt({ receiver, publishers }, { ...newcomers, seconds: recoverySeconds });
      await enabling;
      const { left, seconds } = await delivered;
      const twice = latency.all.arrived - latency.all.distinct;
      const bytes = residentBytes(onAir.pid);
      const complete = pending >= leastPending && left === 0 && twice === 0;
      return {
        shown: table([
          [
            "Endpoints recover",
            "start",
            "all delivered",
            "a second",
            "left",
            "twice",
            "RSS",
            "new events' p50",
            "p99",
          ],
          [
            `${whole(pending)} retries`,
            milliseconds(startMs),
            `${seconds.toFixed(1)} s`,
            ...[(pending - left) / seconds, left, twice].map(whole),
            megabytes(bytes),
            milliseconds(latency.p50Ms),
            milliseconds(latency.p99Ms),
          ],
        ]),
        figures: { pending, startMs, latency, left, twice, seconds, bytes },
        goals: [
          below("ready after, with all delivered once", startMs, recoveryGoal.startMs, {
            as: milliseconds,
            counts: complete,
          }),
          below("new events meanwhile, p99", latency.p99Ms, recoveryGoal.newEventsMs, { as: milliseconds }),
        ],
      };
    });
  } finally {
    await receiver.server.stop("SIGKILL");
  }
};

/** Publishes to endpoints that fail, until nothing is sent any more; gives how many deliveries wait for a retry. */
function fail(bench: DeliveryBench, data: string, receiver: Receiver): Promise<number> {
  bench.say(`Publishing ${whole(deliveries)} deliveries to endpoints that fail`);
  return whileServing(bench, data, async ({ onAir, publishers }) => {
    await addNewcomer(bench, onAir);
    await receiver.refuse(true);
    for (let made = 0; made < deliveries; made += manyApplications) {
      await publishers.publish(broadcasters.everyones, newEventId());
    }
    const end = performance.now() + mostSettleSeconds * 1000;
    let refused = await receiver.refused();
    for (let before = -1; before !== refused.requests; refused = await receiver.refused()) {
      if (performance.now() > end) throw new BenchError("The endpoints that fail are still being tried");
      before = refused.requests;
      await Bun.sleep(quietMs);
    }
    return refused.outstanding;
  });
}

/** Waits until everything that was refused has arrived, for a minute at most. */
async function untilDelivered(receiver: Receiver): Promise<{ left: number; seconds: number }> {
  const startedAt = performance.now();
  for (;;) {
    const seconds = (performance.now() - startedAt) / 1000;
    const { outstanding: left } = await receiver.refused();
    if (left === 0 || seconds > mostDrainSeconds) return { left, seconds };
    await Bun.sleep(20);
  }
}

/** Has all endpoints sent to again at once, as an operator does who knows that they are well. */
async function enableAll(onAir: OnAir): Promise<void> {
  const wire = new Wire(onAir.adminUrl, { authorization: `Bearer ${adminKey}` });
  for await (const ids of applicationPages(onAir)) {
    const answers = await Promise.all(
      ids.map((id) => wire.post(`/admin/v1/applications/${id}/endpoint/enable`, "")),
    );
    const refused = answers.find(({ status }) => status >= 300);
    if (refused) throw new BenchError(`On Air does not enable an endpoint: ${refused.body}`);
  }
  wire.close();
}
