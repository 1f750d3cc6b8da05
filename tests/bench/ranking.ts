import { join } from "node:path";
import { seeded } from "../../src/dev/chance.ts";
import { platformData } from "../../src/platform/platform-data.ts";
import { Ranking } from "../../src/platform/ranking.ts";
import { openStore } from "../../src/store/sqlite/store.ts";
import { ndjson } from "../support/server.ts";
import { benchmark } from "./support/bench.ts";
import { load, type OnAir, startOnAir } from "./support/onair.ts";
import { BenchError } from "./support/processes.ts";
import { below, median, milliseconds, table, whole } from "./support/report.ts";

/*
 * The cost of reporting livestreams and of a new order of the categories, and the delay until the list shows it:
 * bun tests/bench/ranking.ts --help
 */

const about = `
A report names every live channel in one request. Event loop, slices and orders are measured in this otherwise idle process;
the whole request, and the delay until the list shows a report, with the executable.
`;

const chunkBytes = 64 * 1024;
const warmUp = 5;
const goal = { eventLoopMs: 100, sliceMs: 10, shownMs: 2_000 } as const;

type Row = Record<string, unknown>;

/** The platform, and a report that changes the viewers of every channel by up to a tenth. */
function platform(channels: number, categories: number) {
  const random = seeded(5);
  const ids = Array.from({ length: channels }, (_, i) => i + 1);
  const where = ids.map(() => 1 + Math.floor(random() ** 2 * categories));
  return {
    users: ids.map((id) => ({ id, username: `channel${id}` })),
    channels: ids.map((id) => ({ id, user_id: id, slug: `channel-${id}` })),
    categories: Array.from({ length: categories }, (_, i) => {
      return { id: i + 1, name: `Category ${i + 1}`, slug: `category-${i + 1}`, tags: ["English", "FPS"] };
    }),
    report: (): Row[] =>
      ids.map((id, i) => ({
        channel_id: id,
        category_id: where[i],
        viewers: Math.floor((200_000 / id + 3) * (0.9 + random() * 0.2)),
        title: "Live every evening with friends",
        language: "English",
        started_at: "2026-01-14T16:00:00Z",
      })),
  };
}

type Platform = ReturnType<typeof platform>;

async function* chunksOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
}

/** Durations of the event loop's iterations while an operation runs, in milliseconds. */
async function turnsOf(work: () => Promise<unknown>): Promise<number[]> {
  const turns: number[] = [];
  let before = performance.now();
  let going = true;
  const turn = () => {
    const now = performance.now();
    turns.push(now - before);
    before = now;
    if (going) setImmediate(turn);
  };
  setImmediate(turn);
  await work();
  going = false;
  turns.push(performance.now() - before);
  return turns;
}

interface Measured {
  /** Duration of each report, in milliseconds. */
  readonly eventLoop: readonly number[];
  readonly longestSlice: readonly number[];
  /** Time to make a new order for the first request after a report. */
  readonly snapshot: readonly number[];
}

async function measureHere(data: Platform, directory: string, reports: number): Promise<Measured> {
  const store = openStore(directory);
  let now = Date.now();
  const ranking = new Ranking(() => now);
  const intake = platformData({ store, ranking, now: Date.now });
  await intake.users.keep(data.users);
  await intake.channels.keep(data.channels);
  await intake.categories.keep(data.categories);
  const measured = {
    eventLoop: [] as number[],
    longestSlice: [] as number[],
    snapshot: [] as number[],
  };
  for (let i = -warmUp; i < reports; i++) {
    const bytes = new TextEncoder().encode(ndjson(data.report()));
    const turns = await turnsOf(() => intake.applyLivestreams(chunksOf(bytes), true));
    now += 1_000;
    const startedAt = performance.now();
    ranking.current();
    const took = performance.now() - startedAt;
    if (i < 0) continue;
    measured.eventLoop.push(turns.reduce((sum, turn) => sum + turn, 0));
    measured.longestSlice.push(Math.max(...turns));
    measured.snapshot.push(took);
  }
  await store.close();
  return measured;
}

interface Served {
  /** From the start of the request to its answer. */
  readonly request: readonly number[];
  /** From the answer until the list shows it. */
  readonly shown: readonly number[];
}

/** Each report gives the first category one viewer more than all others together had, and none the same number. */
async function measureServed(data: Platform, onAir: OnAir, reports: number): Promise<Served> {
  await load(onAir, "users", data.users);
  await load(onAir, "channels", data.channels);
  await load(onAir, "categories", data.categories);
  const served = { request: [] as number[], shown: [] as number[] };
  for (let i = -warmUp; i < reports; i++) {
    const rows = data.report();
    const mark = 1e9 + i;
    rows[0] = { ...rows[0], category_id: 1, viewers: mark };
    const rest = rows.slice(1).filter((row) => row["category_id"] === 1);
    const expected = rest.reduce((sum, row) => sum + Number(row["viewers"]), mark);
    const startedAt = performance.now();
    await load(onAir, "livestreams", rows);
    const answeredAt = performance.now();
    while ((await mostViewers(onAir)) !== expected) {
      if (performance.now() - answeredAt > 10_000) throw new BenchError("The list never showed a report");
      await Bun.sleep(5);
    }
    if (i < 0) continue;
    served.request.push(answeredAt - startedAt);
    served.shown.push(performance.now() - answeredAt);
  }
  return served;
}

async function mostViewers({ url }: OnAir): Promise<number | undefined> {
  const answer = await fetch(`${url}/public/v1/categories?limit=1`);
  return ((await answer.json()) as { categories: { viewers: number }[] }).categories[0]?.viewers;
}

await benchmark(
  {
    about,
    options: {
      channels: { default: 20_000, help: "live channels, ten times as many as categories" },
      rounds: { default: 20, help: "reports that count, after five of warming up" },
    },
    ofExecutable: true,
  },
  async (bench, { channels, rounds }) => {
    const categories = Math.ceil(channels / 10);
    const data = platform(channels, categories);
    await bench.measure("ranking", async () => {
      const measured = await measureHere(data, join(bench.directory, "here"), rounds);
      const onAir = await startOnAir(bench);
      const served = await measureServed(data, onAir, rounds);
      await onAir.stop();
      const row = (name: string, ms: readonly number[]) => [
        name,
        ...[Math.min(...ms), median(ms), Math.max(...ms)].map(milliseconds),
      ];
      const as = milliseconds;
      return {
        shown: table([
          [`${whole(channels)} channels in ${whole(categories)} categories`, "least", "median", "most"],
          row("event loop of a report", measured.eventLoop),
          row("its longest slice", measured.longestSlice),
          row("taking a new order", measured.snapshot),
          row("a report over HTTP", served.request),
          row("until the list shows it", served.shown),
        ]),
        figures: { ...measured, ...served },
        goals: [
          below("event loop of a report", median(measured.eventLoop), goal.eventLoopMs, { as }),
          below("its longest slice", median(measured.longestSlice), goal.sliceMs, { as }),
          below("until the list shows it, at most", Math.max(...served.shown), goal.shownMs, { as }),
        ],
      };
    });
  },
);
