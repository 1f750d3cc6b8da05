import { describe, expect, test } from "bun:test";
import { minute } from "../../src/domain/time.ts";
import { keepMs, maxKeptBytes, type Order, PastOrders, Ranking } from "../../src/platform/ranking.ts";

describe("the ranking", () => {
  test("leaves out a deleted category, and shows it again after it is stored again", () => {
    const ranking = new Ranking(() => 0);
    const nothingShown = { icon: null, banner: null, description: "", tags: [] };
    const full = (id: number) => ({ id, name: `Category ${id}`, slug: `category-${id}`, ...nothingShown });
    ranking.putCategories([1, 2, 3, 4].map(full));
    ranking.putLive([
      { channel_id: 1, category_id: 2, viewers: 9 },
      { channel_id: 2, category_id: 3, viewers: 0 },
    ]);
    const ids = () => [...ranking.walk(ranking.current().order, null)].map((ranked) => ranked.category.id);
    expect(ids()).toEqual([2, 1, 3, 4]);
    ranking.removeCategories([2, 3]);
    expect(ids()).toEqual([1, 4]);
    expect(ranking.current().category(2)).toBeUndefined();
    ranking.putCategories([full(2)]);
    expect(ids()).toEqual([2, 1, 4]);
  });

  test("gives every order a different name, even when the clock goes back", () => {
    let now = 10_000;
    const ranking = new Ranking(() => now);
    const names = Array.from({ length: 5 }, (_, i) => {
      ranking.putLive([{ channel_id: 1, category_id: 1, viewers: i + 1 }]);
      now -= 1_500;
      return ranking.current().order.takenAt;
    });
    expect(new Set(names).size).toBe(5);
  });
});

describe("orders of the past", () => {
  const orderOf = (takenAt: number, categories = 100): Order => {
    const [ids, viewers] = [new Float64Array(categories), new Float64Array(categories)];
    return { takenAt, ids, viewers };
  };

  test("are bounded; 300 orders of 2,000 categories fit", () => {
    const past = new PastOrders();
    for (let i = 1; i <= 300; i++) past.add(orderOf(i * 1_000, 2_000), i * 1_000, i * 1_000);
    expect(past.use(1_000, 300_000)).not.toBeNull();
    for (let i = 301; i <= 2_000; i++) past.add(orderOf(i * 1_000, 20_000), i * 1_000, i * 1_000);
    expect(past.bytes).toBeLessThanOrEqual(maxKeptBytes);
    expect(past.bytes).toBeGreaterThan(maxKeptBytes * 0.9);
    expect(past.use(2_000_000, 2_000_000)).not.toBeNull();
  });

  test("are removed after 5 minutes without use, and their memory is freed", () => {
    const past = new PastOrders();
    for (let i = 0; i < 10; i++) past.add(orderOf(i), 0, 0);
    expect(past.use(3, keepMs)?.takenAt).toBe(3);
    expect(past.use(4, keepMs + 1)).toBeNull();
    past.add(orderOf(10), keepMs + 1, keepMs + 1);
    expect(past.bytes).toBeLessThan(3 * 2_200);
    expect(past.use(3, 2 * keepMs)?.takenAt).toBe(3);
  });

  test("of long walks do not evict those of the last 5 minutes", () => {
    const room = 20;
    const size = 2 * 8 * 100 + 512;
    const past = new PastOrders(room * size);
    for (let i = 0; i < room; i++) past.add(orderOf(i), 0, 0);
    for (let minutes = 1; minutes <= 5; minutes++)
      for (let i = 0; i < room; i++) past.use(i, minutes * minute);
    const now = 5 * minute;
    for (let i = room; i < 2 * room; i++) {
      past.add(orderOf(i), now, now);
      for (let old = 0; old < room; old++) past.use(old, now);
    }
    for (let i = room; i < 2 * room; i++) expect(past.use(i, now)?.takenAt).toBe(i);
  });
});
