import { cpSync } from "node:fs";
import { join } from "node:path";
import { channelFollowed } from "../../../src/domain/events/built-in.ts";
import { subscriber } from "../../support/publishing.ts";
import type { Bench, Outcome } from "../support/bench.ts";
import { load, OnAir, serveEnvironment, startOnAir } from "../support/onair.ts";
import { sampleUsers } from "../support/platform.ts";
import { startPinnedServer } from "../support/processes.ts";
import { type Certificate, Receiver } from "../support/receiver.ts";
import { Publishers } from "../support/wire.ts";

/** What all parts share. */
export interface DeliveryBench extends Bench {
  readonly receiverPort: number;
  readonly rounds: number;
  /** Length of a round. */
  readonly seconds: number;
  /** Deliveries of the part `backlog`. */
  readonly backlog: number;
  /** Counts of applications for which a data directory has been made. */
  readonly templates: Set<number>;
}

export type Part = (bench: DeliveryBench) => Promise<Outcome>;

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

const users = 1_000;
const madeAtOnce = 32;
const args = ["--allow-private-webhooks"];

/** A server on a new data directory, its receiver and publishers. */
export interface Scene {
  readonly onAir: OnAir;
  readonly receiver: Receiver;
  readonly publishers: Publishers;
  readonly data: string;
}

/** Sets the scene with so many applications and clears it away afterwards. */
export async function withScene<T>(
  bench: DeliveryBench,
  { name, applications, tls }: { name: string; applications: number; tls?: Certificate },
  play: (scene: Scene) => Promise<T>,
): Promise<T> {
  const data = await dataDirectory(bench, applications, name);
  const receiver = await Receiver.start(bench.receiverPort, tls);
  try {
    return await whileServing(bench, data, (served) => play({ ...served, receiver, data }), tls?.certificate);
  } finally {
    await receiver.server.stop("SIGKILL");
  }
}

/** Serves a data directory for as long as something is done; then the server is killed. */
export async function whileServing<T>(
  bench: Bench,
  data: string,
  work: (served: Pick<Scene, "onAir" | "publishers"> & { readonly startMs: number }) => Promise<T>,
  trusted?: string,
): Promise<T> {
  const startedAt = performance.now();
  const onAir = await startOnAir(bench, { data, args, ...(trusted !== undefined && { trusted }) });
  const startMs = performance.now() - startedAt;
  const publishers = new Publishers(onAir);
  try {
    return await work({ onAir, publishers, startMs });
  } finally {
    publishers.wire.close();
    await onAir.stop("SIGKILL");
  }
}

/**
 * The same receiver behind the least program that keeps an event, signs it and sends it, which ends with this process.
 */
export async function bareScene(bench: DeliveryBench, { receiver, data }: Scene): Promise<Scene> {
  const program = join(import.meta.dir, "../support/bare-events.ts");
  const command = [process.execPath, program, data, String(bench.receiverPort)];
  const env = serveEnvironment(bench.directory);
  const { server } = await startPinnedServer("the bare program", command, { env });
  const onAir = new OnAir(server, server.url);
  return { onAir, receiver, publishers: new Publishers(onAir), data };
}

/**
 * A data directory with so many applications, each with an endpoint of its own at the receiver, that are subscribed to
 * `broadcasters.everyones`; the first hundred also to a broadcaster of their own. It is made once and copied.
 */
export async function dataDirectory(
  bench: DeliveryBench,
  applications: number,
  name: string,
): Promise<string> {
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

async function makeTemplate(bench: DeliveryBench, data: string, applications: number): Promise<void> {
  const onAir = await startOnAir(bench, { data, args });
  await load(onAir, "users", sampleUsers(users));
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < applications; index = next++) {
      const webhook_url = `http://127.0.0.1:${bench.receiverPort}/hook/${index}`;
      const own = index < ownBroadcasters ? [broadcasters.ownOf(index)] : [];
      const wanted = { event: channelFollowed.name, broadcasters: [broadcasters.everyones, ...own] };
      await subscriber(onAir, { webhook_url, ...wanted });
    }
  };
  await Promise.all(Array.from({ length: madeAtOnce }, worker));
  await onAir.stop();
}
