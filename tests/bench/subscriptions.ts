/*
 * The time to list, create and delete subscriptions of an application that has many, over HTTP and compared with a bare
 * commit on the same disk: bun tests/bench/subscriptions.ts --help
 */
import { Database } from "bun:sqlite";
import { join } from "node:path";
import { builtInEventTypes } from "../../src/domain/events/built-in.ts";
import { register } from "../support/publishing.ts";
import { benchmark } from "./support/bench.ts";
import { load, newToken, type OnAir, startOnAir } from "./support/onair.ts";
import { firstUserId, sampleUsers, usernameOf } from "./support/platform.ts";
import { BenchError, cpuSeconds } from "./support/processes.ts";
import { below, median, milliseconds, percentile, table, whole } from "./support/report.ts";
import { Wire, type WireAnswer } from "./support/wire.ts";

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

const about = `
On Air runs on one core, this process on the other. Nine further applications have as many subscriptions, interleaved with
these in the database. A bare commit is one row in a separate database with synchronous=FULL. One follows every creation, so
that both meet the disk in the same state.
`;

const goal = { listMs: 20, heldUpMs: 10, beyondCommitMs: 1 } as const;

const beyond = (commit: readonly number[], took: readonly number[]) => median(took) - median(commit);
const cells = (values: readonly number[]) =>
  [0.5, 0.99, 1].map((share) => milliseconds(percentile(values, share)));

function tableOf(subscriptions: number, lists: Lists, writes: readonly Writes[]): string {
  return table([
    [
      `List of ${whole(subscriptions)}, ${whole(lists.bytes)} bytes`,
      "p50",
      "p99",
      "longest",
      "p50 beyond the commit",
    ],
    ["the list", ...cells(lists.list), ""],
    ["processor time of one", milliseconds(lists.cpuMs), "", "", ""],
    ["longest Get User during one", ...cells(lists.during), ""],
    ["longest Get User in as much time without", ...cells(lists.without), ""],
    ["bare commit", ...cells(writes.flatMap(({ commit }) => commit)), ""],
    ...writes.map(({ events, existing, create, commit }) => [
      `create ${events} beside ${whole(existing)}`,
      ...cells(create),
      milliseconds(beyond(commit, create)),
    ]),
    ...writes.map(({ events, existing, remove, commit }) => [
      `delete ${events} of ${whole(existing + events)}`,
      ...cells(remove),
      milliseconds(beyond(commit, remove)),
    ]),
  ]);
}

await benchmark(
  {
    about,
    options: {
      subscriptions: { default: 10_000, least: 20, help: "of the application, in twenties" },
      rounds: { default: 200, help: "measurements of each kind, after a tenth as many of warming up" },
    },
    ofExecutable: true,
    pinned: true,
  },
  async (bench, options) => {
    const subscriptions = options.subscriptions - (options.subscriptions % 20);
    const onAir = await startOnAir(bench);
    await bench.measure("subscriptions", async () => {
      const { lists, writes } = await measure(onAir, bench.directory, { ...options, subscriptions });
      const as = milliseconds;
      return {
        shown: tableOf(subscriptions, lists, writes),
        figures: { lists, writes },
        goals: [
          below("a list, p99", percentile(lists.list, 0.99), goal.listMs, { as }),
          below("others held up by a list, p99", percentile(lists.during, 0.99), goal.heldUpMs, { as }),
          ...writes
            .filter(({ events }) => events === 1)
            .map(({ existing, create, commit }) =>
              below(
                `creating one beside ${whole(existing)}, beyond the commit`,
                beyond(commit, create),
                goal.beyondCommitMs,
                { as },
              ),
            ),
        ],
      };
    });
    await onAir.stop();
  },
);
