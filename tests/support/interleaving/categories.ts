import { pick } from "../../../src/dev/chance.ts";
import {
  haveOneMoment,
  type Random,
  Register,
  type Scene,
  type Seen,
  type Span,
  Turns,
  type World,
  type Write,
} from "./world.ts";

/*
 * Categories that are always there, written to by several at once, and groups of a category with its channels that
 * come and go. Viewer counts and what is shown of channels may be so far behind; all else must not.
 */

const groupCount = 8;
const standingCount = 16;
const behindMs = 2_000;
const listPath = "/public/v1/categories";
const allPath = `${listPath}?limit=100`;

interface List {
  readonly categories: readonly Row[];
}

export async function categories(world: World): Promise<Scene> {
  const groups = new Turns(Array.from({ length: groupCount }, (_, i) => new Group(world, i)));
  const standing = Array.from({ length: standingCount }, (_, i) => new Standing(world, i));
  const byId = new Map([...groups.all, ...standing].map((one) => [one.id, one]));
  /** Bodies by ETag. */
  const bodies = new Map<string, string>();
  /** ETags by path, the last few. */
  const tags = new Map<string, string[]>();

  /** Asks, half of the time with an ETag from before; gives the body that the answer stands for. */
  const ask = async (path: string, random: Random): Promise<Seen> => {
    const earlier = tags.get(path) ?? [];
    const known = earlier.length > 0 && random() < 0.5 ? pick(random, earlier) : null;
    const seen = await world.ask(path, known ? { headers: { "if-none-match": known } } : {});
    const tag = seen.headers.get("etag");
    const wrong = (what: string) => world.wrong(`GET ${path}: ${what}`, { ...seen, known, tag });
    if (seen.status === 304) {
      if (seen.text !== "" || tag !== known) wrong("304 that does not fit");
      return { ...seen, status: 200, text: bodies.get(known ?? "") ?? "" };
    }
    if (seen.status !== 200) return seen;
    if (tag === null || tag === known) {
      wrong("200 with the ETag that was sent, or none");
      return seen;
    }
    if ((bodies.get(tag) ?? seen.text) !== seen.text) wrong("the ETag of another body");
    bodies.set(tag, seen.text);
    tags.set(path, [...earlier, tag].slice(-5));
    return seen;
  };

  const detail = async (random: Random) => {
    const one = random() < 0.8 ? groups.any(random) : pick(random, standing);
    const path = `${listPath}/${one.id}`;
    const { status, text, span } = await ask(path, random);
    const shown = status === 200 ? (JSON.parse(text) as { category: Row }).category : null;
    const wrong = one.wrongWith(shown, span, { ...span, from: span.from - behindMs });
    if (wrong || (shown === null) !== (status === 404))
      world.wrong(`GET ${path}: ${wrong}`, { status, text, span });
  };

  /** The rows of a list, each held against what it can be. */
  const checkRows = (path: string, { status, text, span }: Seen): readonly Row[] => {
    if (status !== 200) {
      world.wrong(`GET ${path}`, { status, text });
      return [];
    }
    const rows = (JSON.parse(text) as List).categories;
    const lives: (readonly Span[])[] = [];
    for (const row of rows) {
      const one = byId.get(row.id);
      const wrong = one
        ? one.wrongWith(row, span, { from: span.from - behindMs, to: span.to })
        : "an unknown category";
      if (wrong) world.wrong(`GET ${path}: ${wrong}`, { row, span });
      else if (one) lives.push(one.lifetimes(row, span));
    }
    if (!haveOneMoment(span, lives)) world.wrong(`GET ${path} mixes moments`, { text, lives, span });
    return rows;
  };

  /** The page that holds everything: all that was there all the time, each once and in order. */
  const everything = (seen: Seen) => {
    const rows = checkRows(allPath, seen);
    const ids = rows.map(({ id }) => id);
    const missing = [...byId.values()].filter((one) => one.isThere(seen.span) && !ids.includes(one.id));
    const sorted = rows.toSorted((a, b) => b.viewers - a.viewers || a.id - b.id);
    if (new Set(ids).size < ids.length || missing.length > 0 || !Bun.deepEquals(sorted, rows))
      world.wrong(`GET ${allPath}: not every category once and in order`, {
        seen: rows.map(({ id, viewers }) => [id, viewers]),
        missing: missing.map(({ id }) => id),
      });
  };

  for (const one of [...groups.all, ...standing]) await one.start();
  return {
    actions: [
      {
        name: "change a category or channel",
        weight: 8,
        run: (random) => groups.take(random, (group) => group.change(random)),
      },
      { name: "change a category at will", weight: 4, run: (random) => pick(random, standing).put() },
      {
        name: "report livestreams",
        weight: 8,
        run: (random) => groups.take(random, (one) => one.report(random)),
      },
      { name: "Get Category", weight: 15, run: detail },
      {
        name: "Get Categories",
        weight: 12,
        run: async (random) => everything(await ask(allPath, random)),
      },
    ],
    async settled() {
      const endedAt = performance.now();
      for (const group of groups.all) {
        for (let isShown = false; !isShown; ) {
          const seen = await world.ask(`${listPath}/${group.id}`);
          isShown = group.showsAll(seen);
          if (!isShown && seen.span.from > endedAt + behindMs) {
            world.wrong(`category ${group.id} stays behind`, seen.text);
            return;
          }
        }
      }
      everything(await world.ask(allPath));
    },
  };
}

/** A category as an answer shows it, in a list or alone. */
export interface Row {
  readonly id: number;
  readonly viewers: number;
  readonly tags: readonly { readonly name: string }[];
  readonly description?: string;
  readonly top_channels?: readonly TopChannel[];
}

interface TopChannel {
  readonly id: number;
  readonly viewers: number;
}

/** The category of a version as the admin API takes it; all its fields follow from it. */
function fieldsOf(id: number, stamp: number) {
  return {
    name: `Category ${id} version ${stamp}`,
    slug: `category-${id}-${stamp}`,
    icon: `https://pictures.example.com/${stamp}/icon.webp`,
    banner: `https://pictures.example.com/${stamp}/banner.webp`,
    description: `Version ${stamp}`,
    tags: [`tag ${stamp % 7}`, `tag ${7 + (stamp % 5)}`],
  };
}

/** Whether all that is shown of a category but its viewers and channels is of one version. */
function isVersion({ viewers, top_channels, description, tags, ...rest }: Row, stamp: number): boolean {
  const { description: whole, tags: names, ...fields } = fieldsOf(rest.id, stamp);
  const tagNames = tags.map(({ name }) => name);
  return (
    Bun.deepEquals(rest, { id: rest.id, ...fields }, true) &&
    Bun.deepEquals(tagNames, names) &&
    (description ?? whole) === whole
  );
}

/** A category whose versions are told apart. */
abstract class Versioned {
  protected readonly category = new Register<number | null>(null);

  constructor(
    protected readonly world: World,
    readonly id: number,
  ) {}

  protected async putCategory(): Promise<void> {
    const stamp = this.world.stamp();
    await this.world.change([this.category.begin(stamp)], () =>
      this.world.admin("PUT", `/admin/v1/categories/${this.id}`, fieldsOf(this.id, stamp)),
    );
  }

  /** The writes that what is shown of it can have come from; null: it is not there. */
  protected shownBy(row: Row | null, span: Span): Write<number | null>[] {
    return this.category
      .possible(span)
      .filter(({ value }) => (row === null || value === null ? row === value : isVersion(row, value)));
  }

  /** When what is shown of it was there. */
  lifetimes(row: Row, span: Span): Span[] {
    return this.shownBy(row, span).map((write) => this.category.lifetime(write));
  }

  /** Whether it is there all the time. */
  isThere(span: Span): boolean {
    return this.category.possible(span).every(({ value }) => value !== null);
  }

  /**
   * What is wrong with what an answer shows of it, null: nothing. `liveSpan` is the time in which its viewers, and what
   * is shown of its channels, may have been there.
   */
  wrongWith(row: Row | null, span: Span, liveSpan: Span): string | null {
    if (this.shownBy(row, span).length === 0)
      return `not one of the versions ${Bun.inspect(this.category.possible(span))}`;
    return row && this.wrongViewers(row, liveSpan);
  }

  protected abstract wrongViewers(row: Row, liveSpan: Span): string | null;
}

/** A category that is always there and in which nobody is live. Several may change it at once. */
class Standing extends Versioned {
  constructor(world: World, number: number) {
    super(world, 1 + number);
  }

  start(): Promise<void> {
    return this.putCategory();
  }

  put(): Promise<void> {
    return this.putCategory();
  }

  protected wrongViewers({ viewers }: Row): string | null {
    return viewers === 0 ? null : "viewers where nobody is live";
  }
}

const channelsOfGroup = 3;
/** The viewers of each channel have digits of their own in the sum of all. */
const digits = 1_000;

interface Channel {
  readonly id: number;
  /** Its viewers are a multiple of this. */
  readonly unit: number;
  /** The version of its fields; null: it is gone. */
  readonly fields: Register<number | null>;
  /** The report of its viewers; 0: it is not live. */
  readonly live: Register<number>;
  isThere: boolean;
  isLive: boolean;
}

function channelOf(id: number, stamp: number) {
  return {
    name: `Channel ${id} version ${stamp}`,
    slug: `channel-${id}-${stamp}`,
    profile_image: `https://pictures.example.com/${stamp}/profile.webp`,
  };
}

/** A category with channels that are live in no other one; one change at a time. */
export class Group extends Versioned {
  readonly #channels: readonly Channel[];
  #isMade = false;
  #reports = 0;

  constructor(world: World, number: number) {
    super(world, 101 + number);
    this.#channels = Array.from({ length: channelsOfGroup }, (_, i) => ({
      id: 5_000 + number * 10 + i,
      unit: digits ** i,
      fields: new Register<number | null>(null),
      live: new Register(0),
      isThere: false,
      isLive: false,
    }));
  }

  async start(): Promise<void> {
    await this.#put();
    for (const channel of this.#channels) await this.#makeChannel(channel);
    await this.report(this.world.random);
  }

  /** Something about the category or one of its channels. */
  async change(random: Random): Promise<void> {
    const channel = pick(random, this.#channels);
    const chance = random();
    if (!this.#isMade || chance < 0.4) await this.#put();
    else if (chance < 0.5) await this.#remove();
    else if (!channel.isThere) await this.#makeChannel(channel);
    else if (chance < 0.8) await this.#putChannel(channel);
    else if (chance < 0.9) await this.#removeChannel(channel, `/admin/v1/users/${channel.id}`);
    else await this.#removeChannel(channel, `/admin/v1/channels/${channel.id}`);
  }

  /** Reports some of its channels live, or ends one. */
  async report(random: Random): Promise<void> {
    const there = this.#channels.filter(({ isThere }) => isThere);
    if (!this.#isMade || there.length === 0) return;
    const one = pick(random, there);
    if (one.isLive && random() < 0.3) {
      const write = one.live.begin(0);
      one.isLive = false;
      await this.world.change([write], () => this.world.admin("DELETE", `/admin/v1/livestreams/${one.id}`));
      return;
    }
    const reported = there.filter((channel) => channel === one || random() < 0.5);
    const number = (this.#reports++ % (digits - 1)) + 1;
    const rows = reported.map(({ id, unit }) => ({
      channel_id: id,
      category_id: this.id,
      viewers: number * unit,
    }));
    for (const channel of reported) channel.isLive = true;
    const writes = reported.map(({ live }) => live.begin(number));
    await this.world.change(writes, () => this.world.admin("PUT", "/admin/v1/livestreams", rows));
  }

  async #put(): Promise<void> {
    this.#isMade = true;
    await this.putCategory();
  }

  async #remove(): Promise<void> {
    this.#isMade = false;
    const writes = [this.category.begin(null), ...this.#channels.flatMap((one) => this.#endOf(one))];
    await this.world.change(writes, () => this.world.admin("DELETE", `/admin/v1/categories/${this.id}`));
  }

  #endOf(channel: Channel): Write<unknown>[] {
    if (!channel.isLive) return [];
    channel.isLive = false;
    return [channel.live.begin(0)];
  }

  async #makeChannel(channel: Channel): Promise<void> {
    const user = { username: `streamer${channel.id}` };
    await this.world.admin("PUT", `/admin/v1/users/${channel.id}`, user);
    await this.#putChannel(channel);
  }

  async #putChannel(channel: Channel): Promise<void> {
    const stamp = this.world.stamp();
    const row = { user_id: channel.id, ...channelOf(channel.id, stamp) };
    channel.isThere = true;
    await this.world.change([channel.fields.begin(stamp)], () =>
      this.world.admin("PUT", `/admin/v1/channels/${channel.id}`, row),
    );
  }

  async #removeChannel(channel: Channel, path: string): Promise<void> {
    channel.isThere = false;
    const writes = [channel.fields.begin(null), ...this.#endOf(channel)];
    await this.world.change(writes, () => this.world.admin("DELETE", path));
  }

  protected wrongViewers({ viewers, top_channels: top }: Row, liveSpan: Span): string | null {
    const reports = this.#channels.map(({ unit }) => Math.floor(viewers / unit) % digits);
    const known = this.#channels.map(({ live }) => live.possible(liveSpan).map(({ value }) => value));
    if (!reports.every((report, i) => known[i]?.includes(report)))
      return `viewers of the reports ${reports}, not of ${Bun.inspect(known)}`;
    if (top === undefined) return null;
    const sorted = top.toSorted((a, b) => b.viewers - a.viewers || a.id - b.id);
    if (!Bun.deepEquals(sorted, top)) return "top channels out of order";
    if (top.some(({ id }) => !this.#channels.some((channel) => channel.id === id)))
      return "a foreign channel";
    for (const [i, { id, unit, fields }] of this.#channels.entries()) {
      const versions = fields.possible(liveSpan).map(({ value }) => value);
      const shown = top.filter((one) => one.id === id);
      const expected = versions.map((stamp) =>
        stamp === null || reports[i] === 0
          ? []
          : [{ id, ...channelOf(id, stamp), viewers: (reports[i] ?? 0) * unit }],
      );
      if (!expected.some((each) => Bun.deepEquals(each, shown, true)))
        return `channel ${id} is none of ${Bun.inspect(expected, { depth: 4 })}`;
    }
    return null;
  }

  /** Whether an answer shows what was written last. */
  showsAll({ status, text, span }: Seen): boolean {
    const row = status === 200 ? (JSON.parse(text) as { category: Row }).category : null;
    return this.wrongWith(row, span, span) === null;
  }
}
