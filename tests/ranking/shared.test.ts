import { describe, expect, test } from "bun:test";
import { keepMs } from "../../src/ranking/past-orders.ts";
import { RankingView } from "../../src/ranking/ranking.ts";
import {
  type GivenStandings,
  holdingBytes,
  LeadingRanking,
  type RankingFollowers,
  SharedStandings,
  takeEveryMs,
} from "../../src/ranking/shared.ts";
import { Clock } from "../support/server.ts";
import { until } from "../support/until.ts";

const category = (id: number) => {
  const name = `Category ${id}`;
  return { id, name, slug: `category-${id}`, icon: null, banner: null, description: "", tags: [] };
};
const live = (category_id: number, viewers: number) => ({ channel_id: category_id, category_id, viewers });

/** Instead of nearly a second, so that no test waits for it. */
const everyMs = 20;

/** Another thread: it gets copies of what it is given, when the test says so. */
class OtherThread implements RankingFollowers {
  readonly standings: SharedStandings;
  readonly ranking: RankingView;
  readonly #waiting: (() => void)[] = [];
  isSlow = false;

  constructor(holding: SharedArrayBuffer, now: () => number) {
    this.standings = new SharedStandings(holding, now);
    this.ranking = new RankingView(this.standings);
  }

  async prepare(given: GivenStandings): Promise<void> {
    const copy = structuredClone(given);
    if (this.isSlow) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.standings.prepare(copy);
  }

  async putCategories(categories: Parameters<RankingView["putCategories"]>[0]): Promise<void> {
    this.ranking.putCategories(structuredClone(categories));
  }

  async removeCategories(ids: readonly number[]): Promise<void> {
    this.ranking.removeCategories(ids);
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Takes what it was given. */
  goOn(): void {
    this.isSlow = false;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

async function startRankings() {
  const clock = new Clock();
  const holding = new SharedArrayBuffer(holdingBytes);
  const other = new OtherThread(holding, clock.now);
  const leader = new LeadingRanking(holding, clock.now, other, { everyMs });
  await leader.putCategories([1, 2, 3, 4].map(category));
  leader.putLive([live(1, 10), live(2, 20), live(3, 0)]);
  await leader.start();
  /** Reports viewers, and waits until they hold. */
  const report = async (...channels: ReturnType<typeof live>[]) => {
    const { order } = leader.current();
    clock.advance(1_000);
    leader.putLive(channels);
    await until(() => leader.current().order !== order);
  };
  return { clock, leader, other, report };
}

const seen = (
  ranking: RankingView,
  order = ranking.current().order,
  after = null as null | { viewers: number; id: number },
) => [...ranking.walk(order, after)].map(({ category, viewers }) => [category.id, viewers]);

describe("the ranking of two threads", () => {
  test("shows the same on both", async () => {
    const { leader, other, report } = await startRankings();
    const first = [
      [2, 20],
      [1, 10],
      [3, 0],
      [4, 0],
    ];
    expect(seen(leader)).toEqual(first);
    expect(seen(other.ranking)).toEqual(first);
    await report(live(4, 30), { ...live(2, 2), channel_id: 9 });
    for (const ranking of [leader, other.ranking]) {
      expect(seen(ranking)).toEqual([
        [4, 30],
        [2, 22],
        [1, 10],
        [3, 0],
      ]);
      const snapshot = ranking.current();
      expect(snapshot.category(2)?.viewers).toBe(22);
      expect(snapshot.topChannels(2, 1)).toEqual([live(2, 20)]);
      expect(snapshot.topChannels(3, 10)).toEqual([live(3, 0)]);
      expect(snapshot.order.takenAt).toBe(leader.current().order.takenAt);
    }
  });

  test("neither shows an order before the other one has it, so that a cursor of it can be followed there", async () => {
    const { leader, other } = await startRankings();
    const before = seen(leader);
    other.isSlow = true;
    leader.putLive([live(1, 1_000)]);
    await until(() => other.waiting === 1);
    await Bun.sleep(20);
    expect(seen(leader)).toEqual(before);
    expect(seen(other.ranking)).toEqual(before);
    other.goOn();
    await until(() => seen(leader)[0]?.[1] === 1_000);
    expect(seen(other.ranking)[0]).toEqual([1, 1_000]);
    const { takenAt } = leader.current().order;
    expect(other.ranking.orderOf(takenAt).takenAt).toBe(takenAt);
  });

  test("a walk that is kept going on one thread can be gone on with on the other", async () => {
    const { clock, leader, other, report } = await startRankings();
    const { takenAt } = other.ranking.current().order;
    const began = seen(leader);
    for (let minutes = 0; minutes < 12; minutes += 4) {
      clock.advance(4 * 60_000);
      await report(live(1, 100 + minutes));
      const order = other.ranking.orderOf(takenAt);
      expect(order.takenAt).toBe(takenAt);
      expect(seen(leader, order)).toEqual(began);
    }
    expect(leader.orderOf(takenAt).takenAt).toBe(takenAt);
    clock.advance(keepMs + 1);
    for (const ranking of [leader, other.ranking]) {
      expect(ranking.orderOf(takenAt)).toBe(ranking.current().order);
    }
  });

  test("an order that nobody goes on in is let go of on both", async () => {
    const { clock, leader, other, report } = await startRankings();
    const { takenAt } = leader.current().order;
    const dropped: number[] = [];
    const prepare = other.prepare.bind(other);
    other.prepare = (given) => {
      dropped.push(...given.dropped);
      return prepare(given);
    };
    await report(live(1, 100));
    clock.advance(keepMs);
    await report(live(1, 101));
    expect(dropped).toEqual([takenAt]);
  });

  test("what is no change of order shows, too, and the order stays", async () => {
    const { leader, other } = await startRankings();
    const before = other.ranking.current();
    leader.touch();
    await until(() => other.ranking.current() !== before);
    expect(other.ranking.current().order).toBe(before.order);
  });

  test("takes an order every so often at most, which is nearly a second, and none where nothing changed", async () => {
    const startedAt = performance.now();
    const { leader, other } = await startRankings();
    const givenAt: number[] = [];
    const prepare = other.prepare.bind(other);
    other.prepare = (standings) => {
      givenAt.push(performance.now());
      return prepare(standings);
    };
    let viewers = 0;
    while (givenAt.length < 5) {
      for (let i = 0; i < 3; i++) leader.putLive([live(1, ++viewers)]);
      await Bun.sleep(1);
    }
    await until(() => leader.current().category(1)?.viewers === viewers);
    for (const [before, at] of givenAt.entries()) {
      // A timer may be early by a part of a millisecond.
      expect(at - startedAt).toBeGreaterThan((before + 1) * (everyMs - 1));
    }
    const all = givenAt.length;
    expect(viewers).toBeGreaterThan(all);
    await Bun.sleep(5 * everyMs);
    expect(givenAt.length).toBe(all);
    expect(takeEveryMs).toBe(950);
  });
});
