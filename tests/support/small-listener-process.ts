import { hasDescriptor, openDescriptors } from "../../src/descriptors.ts";
import { Tally } from "../../src/wire/tally.ts";
import { SmallListener } from "./small-listener.ts";

/*
 * The small listener in a process of its own, whose memory and descriptors are then nobody else's. Says its URL at
 * first, and whenever it is asked what it takes.
 */

export interface Taken {
  readonly url: string;
  readonly rssBytes: number;
  readonly heapBytes: number;
  readonly descriptors: number;
  readonly open: number;
  readonly heldBytes: number;
}

const tally = new Tally();
const server = new SmallListener(undefined, 0, false, {
  limits: { connections: 2_000, perClient: 2_000, heldBytes: 64 * 1024 * 1024, clientOf: () => null },
  tally,
  hasDescriptor,
  warn() {},
});

function taken(): Taken {
  Bun.gc(true);
  const { rss, heapUsed } = process.memoryUsage();
  const { open, heldBytes } = tally;
  const descriptors = openDescriptors() ?? 0;
  return { url: server.url, rssBytes: rss, heapBytes: heapUsed, descriptors, open, heldBytes };
}

process.on("message", () => process.send?.(taken()));
process.on("disconnect", () => process.exit());
process.send?.(taken());
