import { cpSync } from "node:fs";
import { join } from "node:path";
import { channelFollowed } from "../../../src/domain/events/channel-followed.ts";
import { sampleBodies } from "../../support/bodies.ts";
import { adminKey, load, newToken, type OnAir, startOnAir, subscribe } from "../support/onair.ts";
import { sampleUsers } from "../support/platform.ts";
import { BenchError } from "../support/processes.ts";
import type { Receiver, ReceiverReport } from "../support/receiver.ts";
import { Wire } from "../support/wire.ts";
import type { Bench } from "./section.ts";

const users = 1_000;

/** Whose events they are: ids of users. */
export const broadcasters = {
  /** Every application is subscribed to this one. */
  everyones: 1001,
  nobodys: 1002,
  /** Only the application of this index is. */
  ownOf: (index: number) => 1100 + index,
} as const;

/** So many applications have a broadcaster of their own. */
export const ownBroadcasters = 100;

/** The payloads of events, in turn. */
const payloads = sampleBodies(100)
  .filter(({ type }) => type === channelFollowed.name)
  .flatMap(({ bodies }) => bodies.map((body) => JSON.stringify(JSON.parse(body).data)));
let published = 0;

/** An event as the platform publishes it, in JSON; the body of its deliveries has some 650 bytes. */
export function eventText(broadcaster: number, id: string): string {
  const data = payloads[published++ % payloads.length];
  return `{"id":"${id}","name":"${channelFollowed.name}","version":1,"broadcaster_user_id":${broadcaster},"data":${data}}`;
}

/** Publishes events over kept connections. */
export class Publishers {
  readonly wire: Wire;

  constructor(onAir: OnAir) {
    this.wire = new Wire(onAir.adminUrl, { authorization: `Bearer ${adminKey}` });
  }

  /** One event; gives the milliseconds until it was acknowledged, and throws when it is refused. */
  async publish(broadcaster: number, id: string): Promise<number> {
    const { status, body, ms } = await this.wire.post("/admin/v1/events", eventText(broadcaster, id));
    if (status !== 202) throw new BenchError(`On Air does not take an event: ${status} ${body}`);
    return ms;
  }

  /** Many events in one request of NDJSON. */
  async publishAll(broadcaster: number, ids: readonly string[]): Promise<void> {
    const lines = ids.map((id) => eventText(broadcaster, id)).join("\n");
    const type = "content-type: application/x-ndjson\r\n";
    const { status, body } = await this.wire.post("/admin/v1/events", lines, type);
    if (status === 202 && (JSON.parse(body) as { accepted: number }).accepted === ids.length) return;
    throw new BenchError(`On Air does not take all events: ${status} ${body}`);
  }
}

const atOnce = 32;

/**
 * A data directory with so many applications, each with an endpoint of its own at the receiver, that are subscribed to
 * `broadcasters.everyones`; the first hundred also to a broadcaster of their own. It is made once and copied.
 */
export async function dataDirectory(bench: Bench, applications: number, name: string): Promise<string> {
  const template = join(bench.directory, `template-${applications}`);
  if (!bench.templates.has(applications)) {
    bench.say(`Making ${applications} applications with their subscriptions`);
    await makeTemplate(bench, template, applications);
    bench.templates.add(applications);
  }
  const copy = join(bench.directory, name);
  cpSync(template, copy, { recursive: true });
  return copy;
}

async function makeTemplate(bench: Bench, directory: string, applications: number): Promise<void> {
  const onAir = await startOnAir(bench.executable, directory, bench.directory, allowLoopback);
  await load(onAir, "users", sampleUsers(users));
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < applications; index = next++) {
      const webhook_url = `http://127.0.0.1:${bench.receiverPort}/hook/${index}`;
      const token = await newToken(onAir, { webhook_url });
      await subscribe(onAir, token, channelFollowed.name, broadcasters.everyones);
      if (index < ownBroadcasters) {
        await subscribe(onAir, token, channelFollowed.name, broadcasters.ownOf(index));
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  await onAir.stop();
}

const allowLoopback = { args: ["--allow-private-webhooks"] };

/** Starts On Air on a data directory as every section does. */
export function serveDirectory(bench: Bench, data: string, trusted?: string): Promise<OnAir> {
  const options = { ...allowLoopback, ...(trusted !== undefined && { trusted }) };
  return startOnAir(bench.executable, data, bench.directory, options);
}

const drainSeconds = 40;

/** Waits until all have arrived; throws unless each did so exactly once. */
export async function requireAllOnce(receiver: Receiver, deliveries: number): Promise<ReceiverReport> {
  await receiver.waitFor(deliveries, drainSeconds);
  const report = await receiver.report();
  const { arrived, distinct } = report;
  if (arrived === deliveries && distinct === deliveries) return report;
  throw new BenchError(
    `Of ${deliveries} deliveries that were acknowledged ${distinct} arrived, in ${arrived} requests`,
  );
}
