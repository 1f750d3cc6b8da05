import { newToken, type OnAir, subscribe } from "../support/onair.ts";
import { peakResidentBytes, residentBytes } from "../support/processes.ts";
import { newEventId, Receiver } from "../support/receiver.ts";
import { megabytes, milliseconds, whole } from "../support/report.ts";
import { manyApplications } from "./fan-out.ts";
import { latencyAt } from "./latency.ts";
import { broadcasters, dataDirectory, Publishers, serveDirectory } from "./platform.ts";
import type { Bench, Section } from "./section.ts";

const goal = { residentBytes: 250 * 2 ** 20, startMs: 2_000, newEventsMs: 250 };
/** The application whose events are new; only it is subscribed to this broadcaster. */
export const newcomer = { event: "channel.followed", broadcaster: broadcasters.nobodys };
const drainSeconds = 10;
/** A server that has not taken the backlog by then is judged by what it has. */
const mostFillSeconds = 60;

/**
 * Fills while the receiver refuses connections, so that nothing leaves; then the server is killed and started again,
 * and the receiver comes up while new events for another application are published.
 */
export const backlog: Section = {
  name: "backlog",
  title: "A backlog after an outage of the receiver",
  async measure(bench) {
    const data = await dataDirectory(bench, manyApplications, "backlog");
    const filled = await fill(bench, data);
    bench.say("Starting again with the backlog");
    const startedAt = performance.now();
    const onAir = await serveDirectory(bench, data);
    const startMs = performance.now() - startedAt;
    const publishers = new Publishers(onAir);
    try {
      const startBytes = residentBytes(onAir.pid);
      const receiver = await Receiver.start(bench.receiverPort);
      const latency = await latencyAt(
        { receiver, publishers },
        { perSecond: 50, seconds: drainSeconds, each: 1, broadcaster: () => newcomer.broadcaster },
      );
      const { arrived, seconds } = latency.all;
      const drainedPerSecond = arrived / seconds;
      const residentMost = Math.max(filled.residentBytes, startBytes, residentBytes(onAir.pid));
      const peakBytes = Math.max(filled.peakBytes, peakResidentBytes(onAir.pid));
      await receiver.server.stop("SIGKILL");
      const complete = filled.deliveries >= bench.backlog;
      const short = complete ? "" : ` with only ${whole(filled.deliveries)} of ${whole(bench.backlog)}`;
      const figures = { ...filled, startMs, startBytes, residentMost, peakBytes, latency };
      return {
        rows: [
          ["", "filled in", "RSS then", "RSS at most", "start", "drained/s", "new events' p50", "p99"],
          [
            `${whole(filled.deliveries)} deliveries`,
            `${filled.seconds.toFixed(1)} s`,
            megabytes(filled.residentBytes),
            megabytes(peakBytes),
            milliseconds(startMs),
            whole(drainedPerSecond),
            milliseconds(latency.p50Ms),
            milliseconds(latency.p99Ms),
          ],
        ],
        figures,
        goals: [
          {
            text: `resident memory ${megabytes(residentMost)}${short}, goal ${megabytes(goal.residentBytes)}`,
            met: complete && residentMost < goal.residentBytes,
          },
          {
            text: `ready after ${milliseconds(startMs)}${short}, goal ${whole(goal.startMs)} ms`,
            met: complete && startMs < goal.startMs,
          },
          {
            text: `new events meanwhile: p99 ${milliseconds(latency.p99Ms)}${short}, goal ${goal.newEventsMs} ms`,
            met: complete && latency.p99Ms < goal.newEventsMs,
          },
        ],
      };
    } finally {
      publishers.wire.close();
      await onAir.stop("SIGKILL");
    }
  },
};

async function fill(bench: Bench, data: string) {
  bench.say(`Publishing ${whole(bench.backlog)} deliveries to endpoints that refuse connections`);
  const onAir = await serveDirectory(bench, data);
  const publishers = new Publishers(onAir);
  try {
    await addNewcomer(bench, onAir);
    const startedAt = performance.now();
    const passed = () => (performance.now() - startedAt) / 1000;
    let deliveries = 0;
    for (; deliveries < bench.backlog && passed() < mostFillSeconds; deliveries += manyApplications) {
      await publishers.publish(broadcasters.everyones, newEventId());
    }
    const seconds = passed();
    await Bun.sleep(2_000);
    return {
      deliveries,
      seconds,
      residentBytes: residentBytes(onAir.pid),
      peakBytes: peakResidentBytes(onAir.pid),
    };
  } finally {
    publishers.wire.close();
    await onAir.stop("SIGKILL");
  }
}

export async function addNewcomer({ receiverPort }: Bench, onAir: OnAir): Promise<void> {
  const token = await newToken(onAir, { webhook_url: `http://127.0.0.1:${receiverPort}/hook/newcomer` });
  await subscribe(onAir, token, newcomer.event, newcomer.broadcaster);
}
