import { channelFollowed } from "../../../src/domain/events/built-in.ts";
import { sampleBodies } from "../../support/bodies.ts";
import { adminKey } from "../../support/server.ts";
import { BenchError } from "./processes.ts";
import { Wire } from "./wire.ts";

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

let eventIds = 0;

/** An event id that no other of this run has. */
export function newEventId(): string {
  return `bench-${(++eventIds).toString(36)}.`;
}

/** Publishes events over kept connections. */
export class Publishers {
  readonly wire: Wire;

  constructor(onAir: { readonly adminUrl: string }) {
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

/**
 * So many publishers, each of which begins its next event when its last one is acknowledged, as long as there is to be
 * another one. Gives what each event took, as `publish` tells it.
 */
export async function publishByMany(
  publishers: number,
  another: () => boolean,
  publish: (publisher: number) => Promise<number>,
): Promise<number[]> {
  const took: number[] = [];
  const loop = async (publisher: number) => {
    while (another()) took.push(await publish(publisher));
  };
  await Promise.all(Array.from({ length: publishers }, (_, publisher) => loop(publisher)));
  return took;
}
