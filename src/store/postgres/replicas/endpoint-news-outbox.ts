import type { EndpointNews } from "../../replicas/ownership.ts";
import { SendingLoop } from "./sending-loop.ts";

/** Ids of one notification, which has 8,000 bytes. */
const idsAtOnce = 200;

/** Of news that could not be sent, the newest. */
const maxUnsent = 10_000;
const againAfterMs = 500;

/**
 * Sends `EndpointNews`. What was published is not sent again where that failed, because owners find it in the store; all
 * other news are, because owners would not learn of them.
 */
export class EndpointNewsOutbox {
  #published = new Set<string>();
  #others: EndpointNews[] = [];
  readonly #loop = new SendingLoop(
    { isEmpty: () => this.#published.size + this.#others.length === 0, send: () => this.#sendAll() },
    againAfterMs,
  );

  constructor(readonly send: (news: EndpointNews) => Promise<void>) {}

  add(news: EndpointNews): void {
    if (news.kind === "published") for (const id of news.applications) this.#published.add(id);
    else if (news.kind === "unsubscribed") {
      for (const ids of inChunks(news.ids)) this.#others.push({ ...news, ids });
    } else this.#others.push(news);
    this.#loop.wake();
  }

  /** Sends nothing any more. */
  close(): void {
    this.#loop.close();
  }

  async #sendAll(): Promise<boolean> {
    const all = [...this.#others];
    this.#others = [];
    for (const applications of inChunks([...this.#published])) all.push({ kind: "published", applications });
    this.#published.clear();
    const failed = (await Promise.all(all.map((news) => this.#sent(news)))).flat();
    this.#others = [...failed, ...this.#others].slice(-maxUnsent);
    return failed.length === 0;
  }

  /** Gives what is to be sent again. */
  async #sent(news: EndpointNews): Promise<EndpointNews[]> {
    try {
      await this.send(news);
      return [];
    } catch {
      return news.kind === "published" ? [] : [news];
    }
  }
}

function inChunks(ids: readonly string[]): string[][] {
  const count = Math.ceil(ids.length / idsAtOnce);
  return Array.from({ length: count }, (_, i) => ids.slice(i * idsAtOnce, (i + 1) * idsAtOnce));
}
