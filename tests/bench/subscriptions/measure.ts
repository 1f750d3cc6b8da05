import { Database } from "bun:sqlite";
import { join } from "node:path";
import { builtInEventTypes } from "../../../src/domain/events/built-in.ts";
import { register } from "../../support/event-types.ts";
import { load, newToken, type OnAir } from "../support/onair.ts";
import { firstUserId, sampleUsers, usernameOf } from "../support/platform.ts";
import { BenchError, cpuSeconds } from "../support/processes.ts";
import { Wire, type WireAnswer } from "../support/wire.ts";

const path = "/public/v1/events/subscriptions";
/** Subscriptions of one request while the data is made, and of a large one. */
const perBroadcaster = builtInEventTypes.length;
const batch = 50;
const fillingAtOnce = 32;
/** Further applications with as many subscriptions. */
const others = 9;

type EventName = { readonly name: string; readonly version: number };
const builtIn: readonly EventName[] = builtInEventTypes.map(({ name, version }) => ({ name, version }));
/** Registered ones beside those, so that a request can ask for as many as are allowed. */
const registered = Array.from({ length: batch - builtIn.length }, (_, i) => ({
  name: `bench.event_${"abcdefghijklmnopqrstuvwxyz"[i % 26]}${"abcdefghijklmnopqrstuvwxyz"[Math.floor(i / 26)]}`,
  version: 1,
}));

export interface Options {
  readonly subscriptions: number;
  readonly rounds: number;
}

function requireStatus({ status, body }: WireAnswer, expected: number): void {
  if (status !== expected) throw new BenchError(`On Air answers ${status}: ${body.slice(0, 500)}`);
}

/** An application as the benchmark speaks for it. */
class Bot {
  private constructor(readonly wire: Wire) {}

  static async made(onAir: OnAir, limit: number): Promise<Bot> {
    const fields = { webhook_url: "https://receiver.example.com/hook", subscription_limit: limit };
    return new Bot(new Wire(onAir.url, { authorization: `Bearer ${await newToken(onAir, fields)}` }));
  }

  /** Subscribes to these; gives how long it took and the ids. */
  async create(broadcaster: number, events: readonly EventName[]): Promise<{ ms: number; ids: string[] }> {
    const answer = await this.wire.post(
      path,
      JSON.stringify({ events, broadcaster_user_id: firstUserId + broadcaster - 1 }),
    );
    requireStatus(answer, 200);
    const { data } = JSON.parse(answer.body) as { data: { subscription_id: string }[] };
    return { ms: answer.ms, ids: data.map(({ subscription_id }) => subscription_id) };
  }

  async remove(ids: readonly string[]): Promise<number> {
    const answer = await this.wire.delete(`${path}?id=${ids.join(",")}`);
    requireStatus(answer, 204);
    return answer.ms;
  }

  async list(): Promise<WireAnswer> {
    const answer = await this.wire.get(path);
    requireStatus(answer, 200);
    return answer;
  }
}

/** A bot and how many subscriptions it has when it creates further ones. */
interface Stage {
  readonly bot: Bot;
  readonly existing: number;
}

/** Broadcaster by broadcaster, as channels sign up: rows of all applications lie between each other. */
async function fill(
  stages: readonly { readonly bot: Bot; readonly wanted: number }[],
  most: number,
): Promise<void> {
  let open: Promise<unknown>[] = [];
  for (let broadcaster = 1; (broadcaster - 1) * perBroadcaster < most; broadcaster++) {
    for (const { bot, wanted } of stages) {
      if ((broadcaster - 1) * perBroadcaster >= wanted) continue;
      open.push(bot.create(broadcaster, builtIn));
      if (open.length < fillingAtOnce) continue;
      await Promise.all(open);
      open = [];
    }
  }
  await Promise.all(open);
}

async function registerEvents(onAir: OnAir): Promise<void> {
  for (const { name } of registered) {
    const { status, body } = await register(onAir, name, {
      version: 1,
      schema: { type: "object" },
      example: {},
    });
    if (status !== 200) throw new BenchError(`${name}: ${status} ${body.message}`);
  }
}

/** What the disk asks of everyone: gives a function that commits one row and says how long that took. */
function bareCommits(directory: string): () => number {
  const db = new Database(join(directory, "bare.db"), { create: true });
  db.run("PRAGMA journal_mode = WAL");
  db.run("PRAGMA synchronous = FULL");
  // Its log is soon written over, as that of the server: one that grows has the file system wait for its own journal.
  db.run("PRAGMA wal_autocheckpoint = 50");
  db.run("CREATE TABLE rows (id INTEGER PRIMARY KEY, value TEXT NOT NULL)");
  const insert = db.prepare<null, [string]>("INSERT INTO rows (value) VALUES (?)");
  return () => {
    const startedAt = performance.now();
    insert.run("x".repeat(100));
    return performance.now() - startedAt;
  };
}

/** What one kind of creation, and the deletion of what it made, took. */
export interface Writes {
  readonly existing: number;
  readonly events: number;
  /** In milliseconds, one after the other. */
  readonly create: number[];
  readonly remove: number[];
  readonly commit: number[];
}

/** What is created is deleted again, so that a stage has the same number each time. */
async function measureWrites(
  stages: readonly Stage[],
  broadcaster: number,
  commit: () => number,
  rounds: number,
): Promise<Writes[]> {
  const everything = [...builtIn, ...registered];
  const kinds = stages.flatMap(({ bot, existing }) =>
    [everything.slice(0, 1), everything].map((events) => ({
      bot,
      events,
      figures: { existing, events: events.length, create: [], remove: [], commit: [] } as Writes,
    })),
  );
  const warmUp = Math.ceil(rounds / 10);
  for (let round = -warmUp; round < rounds; round++) {
    for (const { bot, events, figures } of kinds) {
      const { ms, ids } = await bot.create(broadcaster, events);
      const bare = commit();
      const removal = await bot.remove(ids);
      if (round < 0) continue;
      figures.create.push(ms);
      figures.commit.push(bare);
      figures.remove.push(removal);
    }
  }
  return kinds.map(({ figures }) => figures);
}

export interface Lists {
  readonly bytes: number;
  /** Processor time of the server for each, in milliseconds. */
  readonly cpuMs: number;
  /** In milliseconds, one after the other. */
  readonly list: number[];
  /** The longest Get User during each of as many lists, and in as much time without one. */
  readonly during: number[];
  readonly without: number[];
}

async function measureLists(bot: Bot, { subscriptions, rounds }: Options, serverPid: number): Promise<Lists> {
  const lists = { list: [] as number[], during: [] as number[], without: [] as number[] };
  const first = await bot.list();
  const { data } = JSON.parse(first.body) as { data: unknown[] };
  if (data.length !== subscriptions)
    throw new BenchError(`The list has ${data.length} records, not ${subscriptions}`);
  const asking = (work: () => Promise<unknown>) => longestOf(bot.wire, work);
  const warmUp = Math.ceil(rounds / 10);
  for (let round = -warmUp; round < rounds; round++) {
    const { ms } = await bot.list();
    const during = await asking(() => bot.list());
    const without = await asking(() => Bun.sleep(ms));
    if (round < 0) continue;
    lists.list.push(ms);
    lists.during.push(during);
    lists.without.push(without);
  }
  const before = cpuSeconds(serverPid);
  for (let i = 0; i < rounds; i++) await bot.list();
  const cpuMs = ((cpuSeconds(serverPid) - before) / rounds) * 1_000;
  return { ...lists, cpuMs, bytes: first.body.length };
}

/** Asks for a user again and again while something goes on; gives the longest answer, in milliseconds. */
async function longestOf(wire: Wire, work: () => Promise<unknown>): Promise<number> {
  let going = true;
  let longest = 0;
  const asking = (async () => {
    while (going) {
      const answer = await wire.get(`/public/v1/users/${usernameOf(0)}`);
      requireStatus(answer, 200);
      longest = Math.max(longest, answer.ms);
    }
  })();
  await work();
  going = false;
  await asking;
  return longest;
}

/** Fills a server with subscriptions and measures all there is to measure. `directory` is for bare commits. */
export async function measure(onAir: OnAir, directory: string, options: Options) {
  const { subscriptions, rounds } = options;
  const broadcasters = Math.ceil(subscriptions / perBroadcaster);
  const spare = broadcasters + 1;
  await load(onAir, "users", sampleUsers(spare, "by id"));
  await registerEvents(onAir);
  const wanted = [0, subscriptions / 2, subscriptions];
  const rest = Array.from({ length: others }, () => subscriptions);
  const bots = await Promise.all(
    [...wanted, ...rest].map(async (each) => ({
      bot: await Bot.made(onAir, subscriptions + batch),
      wanted: each,
    })),
  );
  await fill(bots, subscriptions);
  const full = bots[2]?.bot;
  if (!full) throw new BenchError("There is no application");
  const lists = await measureLists(full, options, onAir.pid);
  const last = await full.create(broadcasters, builtIn.slice(0, 1));
  await full.remove(last.ids);
  const stages = bots
    .slice(0, 3)
    .map(({ bot, wanted: each }) => ({ bot, existing: each === subscriptions ? each - 1 : each }));
  const writes = await measureWrites(stages, spare, bareCommits(directory), rounds);
  for (const { bot } of bots) bot.wire.close();
  return { lists, writes };
}
