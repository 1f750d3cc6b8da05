import type { EndpointNotification } from "../../replicas/ownership.ts";
import { SendingLoop } from "./sending-loop.ts";

/** The most ids in one notification. PostgreSQL limits it to 8,000 bytes. */
const idsAtOnce = 200;

/** The most notifications that wait to be sent again. Above this, the oldest are dropped. */
const maxUnsent = 10_000;
const againAfterMs = 500;

/**
 * Sends notifications to the owners of endpoints. Those of kind `published` are not sent again after a failure, because
 * the owners find the deliveries in the store. All others are, because the owners would not notice the change.
 */
export class EndpointOutbox {
  #published = new Set<string>();
  #others: EndpointNotification[] = [];
  readonly #loop = new SendingLoop(
    { isEmpty: () => this.#published.size + this.#others.length === 0, send: () => this.#sendAll() },
    againAfterMs,
  );

  constructor(readonly send: (notification: EndpointNotification) => Promise<void>) {}

  add(notification: EndpointNotification): void {
    if (notification.kind === "published")
      for (const id of notification.applications) this.#published.add(id);
    else if (notification.kind === "unsubscribed") {
      for (const ids of inChunks(notification.ids)) this.#others.push({ ...notification, ids });
    } else this.#others.push(notification);
    this.#loop.wake();
  }

  /** Stops sending. */
  close(): void {
    this.#loop.close();
  }

  async #sendAll(): Promise<boolean> {
    const all = [...this.#others];
    this.#others = [];
    for (const applications of inChunks([...this.#published])) all.push({ kind: "published", applications });
    this.#published.clear();
    const failed = (await Promise.all(all.map((notification) => this.#sent(notification)))).flat();
    this.#others = [...failed, ...this.#others].slice(-maxUnsent);
    return failed.length === 0;
  }

  /** Sends a notification. Resolves to those that must be sent again. */
  async #sent(notification: EndpointNotification): Promise<EndpointNotification[]> {
    try {
      await this.send(notification);
      return [];
    } catch {
      return notification.kind === "published" ? [] : [notification];
    }
  }
}

function inChunks(ids: readonly string[]): string[][] {
  const count = Math.ceil(ids.length / idsAtOnce);
  return Array.from({ length: count }, (_, i) => ids.slice(i * idsAtOnce, (i + 1) * idsAtOnce));
}
