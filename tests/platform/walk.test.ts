import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { minute } from "../../src/domain/time.ts";
import { holdsLater } from "../support/property.ts";
import { Clock, json, ownDirectory, ownServer, type TestServer } from "../support/server.ts";

const channelCount = 80;

interface Seen {
  readonly id: number;
  readonly name: string;
  readonly viewers: number;
}
interface List {
  readonly categories: readonly Seen[];
  readonly pagination: { readonly cursor: string; readonly has_more: boolean };
}

let server: TestServer;
let clock: Clock;

const category = (id: number, name = `Category ${id}`) => ({ id, name, slug: `category-${id}` });

async function start(data?: string): Promise<void> {
  server = await ownServer({ clock, ...(data !== undefined && { data }) });
}

/** A platform with categories and no livestreams. */
async function startPlatform(categories: number, data?: string): Promise<void> {
  clock = new Clock();
  await start(data);
  const ids = Array.from({ length: channelCount }, (_, i) => i + 1);
  await server.load(
    "users",
    ids.map((id) => ({ id, username: `user${id}` })),
  );
  await server.load(
    "channels",
    ids.map((id) => ({ id, user_id: id, slug: `channel-${id}` })),
  );
  await server.load(
    "categories",
    Array.from({ length: categories }, (_, i) => category(i + 1)),
  );
}

/** Replaces all livestreams by ones with these viewers per category. */
async function report(viewers: Readonly<Record<number, number>>): Promise<void> {
  const lines = Object.entries(viewers).map(([id, count], i) =>
    JSON.stringify({ channel_id: i + 1, category_id: Number(id), viewers: count }),
  );
  const answer = await server.admin("PUT", "/admin/v1/livestreams?snapshot=true", lines.join("\n"));
  expect(await json<{ rejected: number }>(answer)).toMatchObject({ rejected: 0 });
  clock.advance(1_000);
}

async function page(query: string, cursor = ""): Promise<List> {
  const answer = await server.get(`/public/v1/categories?${query}&cursor=${cursor}`);
  if (answer.status !== 200) throw new Error(await answer.text());
  return json<List>(answer);
}

/** The remaining pages of a walk. `between` is called before each step. */
async function rest(query: string, first: List, between: () => unknown = () => {}): Promise<Seen[]> {
  const seen: Seen[] = [];
  for (let { cursor, has_more } = first.pagination; has_more; ) {
    await between();
    const next = await page(query, cursor);
    seen.push(...next.categories);
    ({ cursor, has_more } = next.pagination);
    expect(cursor).toMatch(/^[A-Za-z0-9._-]{0,200}$/);
  }
  return seen;
}

const idsOf = (seen: readonly Seen[]) => seen.map(({ id }) => id);

describe("a walk", () => {
  test("shows every category exactly once, in one order, whatever is reported or removed in between", async () => {
    await startPlatform(40);
    const all = Array.from({ length: 40 }, (_, i) => i + 1);
    const ids = fc.integer({ min: 1, max: 40 });
    const row = fc.record({
      channel_id: fc.integer({ min: 1, max: channelCount }),
      category_id: ids,
      viewers: fc.oneof(fc.constant(0), fc.nat({ max: 50 })),
    });
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ walk: fc.nat() }) },
      { weight: 3, arbitrary: fc.record({ rows: fc.array(row, { minLength: 1, maxLength: 30 }) }) },
      // All steps together take less than the 5 minutes for which an order is kept.
      { weight: 2, arbitrary: fc.record({ advanceMs: fc.nat({ max: 9_000 }) }) },
      { weight: 1, arbitrary: fc.record({ remove: ids }) },
    );
    const query = fc
      .tuple(fc.integer({ min: 1, max: 45 }), fc.constantFrom("", "&name=3", "&name=category"))
      .map(([limit, name]) => `limit=${limit}${name}`);
    const walks = fc.array(query, { minLength: 1, maxLength: 4 });
    await holdsLater(
      fc.asyncProperty(walks, fc.array(step, { maxLength: 30 }), async (queries, steps) => {
        const walks = queries.map((query) => ({ query, seen: [] as Seen[], cursor: "", isDone: false }));
        const goOn = async (walk: (typeof walks)[number] | undefined) => {
          if (!walk || walk.isDone) return;
          const { categories, pagination } = await page(walk.query, walk.cursor);
          walk.seen.push(...categories);
          walk.cursor = pagination.cursor;
          walk.isDone = !pagination.has_more;
        };
        const removed = new Set<number>();
        for (const step of steps) {
          if ("walk" in step) await goOn(walks[step.walk % walks.length]);
          else if ("advanceMs" in step) clock.advance(step.advanceMs);
          else if ("rows" in step) {
            await server.load(
              "livestreams",
              step.rows.filter(({ category_id }) => !removed.has(category_id)),
            );
          } else if (!removed.has(step.remove)) {
            removed.add(step.remove);
            const answer = await server.admin("DELETE", `/admin/v1/categories/${step.remove}`);
            expect(answer.status).toBe(204);
          }
        }
        while (walks.some(({ isDone }) => !isDone)) for (const walk of walks) await goOn(walk);
        for (const { query, seen } of walks) {
          const matching = query.includes("name=3") ? all.filter((id) => `${id}`.includes("3")) : all;
          const shown = idsOf(seen);
          expect(new Set(shown).size).toBe(shown.length);
          expect(matching.filter((id) => !removed.has(id) && !shown.includes(id))).toEqual([]);
          expect(shown.filter((id) => !matching.includes(id))).toEqual([]);
          expect(seen.toSorted((a, b) => b.viewers - a.viewers || a.id - b.id)).toEqual(seen);
        }
        await server.load(
          "categories",
          [...removed].map((id) => category(id)),
        );
      }),
      { numRuns: 30 },
    );
  });

  test("continues at the same position in the current order after more than 5 minutes", async () => {
    await startPlatform(6);
    await report({ 1: 60, 2: 50, 3: 40, 4: 30, 5: 20, 6: 10 });
    const first = await page("limit=3");
    expect(idsOf(first.categories)).toEqual([1, 2, 3]);
    await report({ 1: 10, 2: 50, 3: 40, 4: 80, 5: 20, 6: 60 });
    clock.advance(5 * minute - 1_000);
    expect(idsOf(await rest("limit=3", first))).toEqual([4, 5, 6]);
    clock.advance(5 * minute + 1);
    const today = await rest("limit=1", first);
    expect(today.map(({ id, viewers }) => [id, viewers])).toEqual([
      [5, 20],
      [1, 10],
    ]);
  });

  test("is consistent again from that page on", async () => {
    await startPlatform(6);
    await report({ 1: 60, 2: 50, 3: 40, 4: 30, 5: 20, 6: 10 });
    const first = await page("limit=1");
    await report({ 1: 60, 2: 50, 3: 10, 4: 30, 5: 20, 6: 40 });
    clock.advance(6 * minute);
    const second = await page("limit=1", first.pagination.cursor);
    expect(idsOf(second.categories)).toEqual([2]);
    await report({ 1: 60, 2: 1, 3: 2, 4: 3, 5: 4, 6: 5 });
    expect(idsOf(await rest("limit=1", second))).toEqual([6, 4, 5, 3]);
  });

  test("keeps its order while each step follows within 5 minutes of the previous one", async () => {
    await startPlatform(12);
    const viewers = (factor: number) =>
      Object.fromEntries(Array.from({ length: 12 }, (_, i) => [i + 1, 1 + (((i + 1) * factor) % 13)]));
    await report(viewers(1));
    const first = await page("limit=1");
    let factor = 1;
    const seen = await rest("limit=1", first, async () => {
      clock.advance(4 * minute);
      await report(viewers(++factor % 13 || 1));
      await page("limit=100");
    });
    expect(idsOf([...first.categories, ...seen])).toEqual([12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
  });

  test("shows viewer counts as of its beginning, and all other fields as they are now", async () => {
    await startPlatform(3);
    await report({ 1: 30, 2: 20, 3: 10 });
    const first = await page("limit=1");
    await report({ 1: 30, 2: 999, 3: 10 });
    await server.load("categories", [category(2, "Renamed")]);
    expect(await rest("limit=1", first)).toMatchObject([
      { id: 2, name: "Renamed", viewers: 20 },
      { id: 3, viewers: 10 },
    ]);
    expect((await page("limit=1")).categories).toMatchObject([{ id: 2, viewers: 999 }]);
  });

  test("shows a category created in between at most once, without shifting others", async () => {
    await startPlatform(6);
    await report({ 2: 20, 4: 10 });
    const first = await page("limit=2");
    expect(idsOf(first.categories)).toEqual([2, 4]);
    await server.load("categories", [category(70), category(71)]);
    await report({ 2: 20, 4: 10, 70: 1_000 });
    const seen = idsOf(await rest("limit=2", first));
    expect(seen).toEqual([1, 3, 5, 6, 70, 71]);
  });

  test("applies the filter when names change: a category that always matches is shown exactly once", async () => {
    await startPlatform(6);
    await report({ 1: 6, 2: 5, 3: 4, 4: 3, 5: 2, 6: 1 });
    const first = await page("limit=1&name=cat");
    await server.load("categories", [category(3, "Other"), category(1, "Category still")]);
    await report({ 1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6 });
    expect(idsOf(await rest("limit=1&name=cat", first))).toEqual([2, 4, 5, 6]);
  });

  test("continues in the current order after a restart", async () => {
    const data = ownDirectory();
    await startPlatform(5, data);
    await report({ 1: 50, 2: 40, 3: 30, 4: 20, 5: 10 });
    const first = await page("limit=2");
    await server.stop();
    await start(data);
    expect(idsOf(await rest("limit=2", first))).toEqual([3, 4, 5]);
  });
});
