import type { ReplicaNews, ReplicaNewsLink, SentNews, Share } from "../../replicas/news.ts";
import { type Notifications, notify, topic } from "../database/notifications.ts";
import type { Queries } from "../database/pool.ts";
import { SendingLoop } from "./sending-loop.ts";

/** Notifications of the database's triggers, sent with the commit of a change. */
const changes = topic<ReplicaNews>("changes");
/** Notifications of replicas. */
const broadcasts = topic<{ readonly from: number; readonly news: SentNews }>("told");

/** The most ids and the most shares, whose keys are longer, in one notification. PostgreSQL limits it to 8,000 bytes. */
const entriesAtOnce = 150;
const sharesAtOnce = 100;
const againAfterMs = 250;

type ShownNews = Extract<SentNews, { kind: "watching" | "changed" }>;
type ChangedNews = Extract<ShownNews, { kind: "changed" }>;

/** Exchanges `ReplicaNews` over notifications of PostgreSQL. */
export class ReplicaNewsExchange implements ReplicaNewsLink {
  #listener: (news: ReplicaNews) => void = () => {};
  #hasHeard = false;
  #streamed = new Set<string>();
  #taken: Share[] = [];
  /** Notifications for open streams of changes, merged into one of each kind. */
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
    notifications.on(broadcasts, ({ from, news }) => from !== replica && this.#listener(news));
    notifications.onAway(() => this.#listener({ kind: "away" }));
    notifications.onMissed(() => this.#listener({ kind: "missed" }));
    notifications.onCurrent((at) => {
      // Changes before the connection listened were not received.
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

  /** Stops sending. */
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
      await Promise.all(all.map((news) => notify(this.queries, broadcasts, { from: this.replica, news })));
      return true;
    } catch {
      // The fault of the storage is reported elsewhere. Shares are dropped, because they are useless later.
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
