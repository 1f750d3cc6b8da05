import type { ReplicaNews, ReplicaNewsLink, SentNews, Share } from "../../replicas/news.ts";
import { type Notifications, notify, topic } from "../database/notifications.ts";
import type { Queries } from "../database/pool.ts";
import { SendingLoop } from "./sending-loop.ts";

/** What triggers of the database tell, with the commit of a change. */
const changes = topic<ReplicaNews>("changes");
const told = topic<{ readonly from: number; readonly news: SentNews }>("told");

/** Entries of one notification, which has 8,000 bytes: ids, and shares, whose keys are longer. */
const entriesAtOnce = 150;
const sharesAtOnce = 100;
const againAfterMs = 250;

type ShownNews = Extract<SentNews, { kind: "watching" | "changed" }>;
type ChangedNews = Extract<ShownNews, { kind: "changed" }>;

/** News of the others over notifications. */
export class ReplicaNewsExchange implements ReplicaNewsLink {
  #listener: (news: ReplicaNews) => void = () => {};
  #hasHeard = false;
  #streamed = new Set<string>();
  #taken: Share[] = [];
  /** For open streams: one message of each kind, with everything that was reported of it. */
  #shown = new Map<ShownNews["kind"], ShownNews>();
  readonly #loop = new SendingLoop(
    {
      isEmpty: () => this.#streamed.size + this.#taken.length + this.#shown.size === 0,
      send: () => this.#sendSome(),
    },
    againAfterMs,
  );

  constructor(
    readonly queries: Queries,
    readonly replica: number,
    notifications: Notifications,
  ) {
    notifications.on(changes, (news) => this.#listener(news));
    notifications.on(told, ({ from, news }) => from !== replica && this.#listener(news));
    notifications.onAway(() => this.#listener({ kind: "away" }));
    notifications.onMissed(() => this.#listener({ kind: "missed" }));
    notifications.onCurrent((at) => {
      // What changed before it listened was not heard.
      if (!this.#hasHeard) this.#listener({ kind: "missed" });
      this.#hasHeard = true;
      this.#listener({ kind: "current", at });
    });
  }

  onNews(listener: (news: ReplicaNews) => void): void {
    this.#listener = listener;
    this.#hasHeard = false;
  }

  broadcast(news: SentNews): void {
    if (news.kind === "taken") this.#taken.push(...news.shares);
    else if (news.kind !== "streamed") this.#show(news);
    else for (const id of news.applications) this.#streamed.add(id);
    this.#loop.wake();
  }

  /** Tells nothing any more. */
  close(): void {
    this.#loop.close();
  }

  #show(news: ShownNews): void {
    const earlier = this.#shown.get(news.kind);
    const isMore = news.kind === "changed" && earlier?.kind === "changed";
    this.#shown.set(news.kind, isMore ? bothChanged(earlier, news) : news);
  }

  async #sendSome(): Promise<boolean> {
    const applications = [...this.#streamed].slice(0, entriesAtOnce);
    for (const id of applications) this.#streamed.delete(id);
    const shares = this.#taken.splice(0, sharesAtOnce);
    const shown = [...this.#shown.values()];
    const all: SentNews[] = [...shown];
    this.#shown.clear();
    if (applications.length > 0) all.push({ kind: "streamed", applications });
    if (shares.length > 0) all.push({ kind: "taken", shares });
    try {
      await Promise.all(all.map((news) => notify(this.queries, told, { from: this.replica, news })));
      return true;
    } catch {
      // The storage reports by itself that it cannot be used. Shares are worth nothing later.
      for (const id of applications) this.#streamed.add(id);
      for (const news of shown) this.#show(news);
      this.#taken = [];
      return false;
    }
  }
}

function bothChanged(one: ChangedNews, other: ChangedNews): ChangedNews {
  const topics = [...new Set([...one.topics, ...other.topics])];
  if (one.applications === null || other.applications === null) return { ...one, topics, applications: null };
  const applications = [...new Set([...one.applications, ...other.applications])];
  return { ...one, topics, applications: applications.length > entriesAtOnce ? null : applications };
}
