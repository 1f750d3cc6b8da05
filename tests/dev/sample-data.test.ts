import { describe, expect, test } from "bun:test";
import { seeded } from "../../src/dev/chance.ts";
import {
  newLivestream,
  nextToChange,
  nextViewers,
  sampleData,
  typicallyLive,
} from "../../src/dev/sample-data.ts";
import { applyBatch, type Intake } from "../../src/platform/batches.ts";
import { testServer } from "../support/server.ts";

const now = Date.parse("2026-01-14T16:00:00Z");
const sample = sampleData(now);
const server = await testServer();

describe("sample data", () => {
  test("are the same each time", () => {
    expect(JSON.stringify(sampleData(now))).toBe(JSON.stringify(sample));
    const withoutStart = (at: number) => ({ ...sampleData(at), livestreams: [] });
    expect(JSON.stringify(withoutStart(now + 1e10))).toBe(JSON.stringify(withoutStart(now)));
  });

  test("are accepted whole, line by line, and change nothing when they come again", async () => {
    const { data, store } = server.app;
    const send = async <Input>(intake: Intake<Input>, rows: readonly object[]) => {
      const lines = rows.map((row) => `${JSON.stringify(row)}\n`).join("");
      const stream = new Blob([lines]).stream() as unknown as AsyncIterable<Uint8Array>;
      expect(await applyBatch(stream, intake)).toEqual({
        accepted: rows.length,
        rejected: 0,
        ignored_fields: 0,
        duplicate_ids: 0,
        errors: [],
      });
    };
    for (let round = 0; round < 2; round++) {
      await send(
        data.users,
        sample.people.map(({ user }) => user),
      );
      await send(data.categories, sample.categories);
      await send(
        data.channels,
        sample.people.map(({ channel }) => channel),
      );
      await send(data.livestreams, sample.livestreams);
    }
    expect(await store.users.page(0, 1_000)).toHaveLength(300);
    expect((await store.livestreams.all()).length).toBe(typicallyLive);
    expect((await store.categories.all()).length).toBe(60);
  });

  test("look like a platform: many scripts, few with many followers, some verified", () => {
    const names = sample.people.map(({ user }) => user.display_name).join();
    for (const script of [
      "Hangul",
      "Han",
      "Hiragana",
      "Katakana",
      "Arabic",
      "Cyrillic",
      "Greek",
      "Thai",
      "Devanagari",
    ]) {
      expect([script, new RegExp(`\\p{Script=${script}}`, "u").test(names)]).toEqual([script, true]);
    }
    expect(names).toMatch(/[áéñöüłş]/);
    const followers = sample.people.map(({ user }) => user.followers_count).sort((a, b) => b - a);
    const top = followers.slice(0, 10).reduce((sum, count) => sum + count, 0);
    expect(top).toBeGreaterThan(followers.slice(10).reduce((sum, count) => sum + count, 0));
    const verified = sample.people.filter(({ user }) => user.is_verified).length;
    expect(verified).toBeGreaterThan(20);
    expect(verified).toBeLessThan(120);
    expect(sample.people.some(({ user }) => user.bio === "")).toBe(true);
    expect(sample.categories.every(({ tags, description }) => tags?.length && description)).toBe(true);
  });
});

describe("livestreams", () => {
  const person = sample.people[40];
  if (!person) throw new Error("there are 300");

  test("have viewer counts that move a little each second and stay plausible for days", () => {
    const random = seeded(1);
    for (const typical of [3, 60, 25_000]) {
      let viewers = typical;
      let moves = 0;
      let highest = 0;
      let lowest = Number.POSITIVE_INFINITY;
      for (let second = 0; second < 100_000; second++) {
        const next = nextViewers(viewers, typical, random);
        if (next !== viewers) moves++;
        viewers = next;
        highest = Math.max(highest, viewers);
        lowest = Math.min(lowest, viewers);
      }
      expect(Number.isSafeInteger(viewers)).toBe(true);
      expect(moves).toBeGreaterThan(5_000);
      expect(lowest).toBeGreaterThanOrEqual(1);
      expect(highest).toBeLessThan(typical * 4 + 10);
    }
  });

  test("come back to what is typical", () => {
    let viewers = 1;
    const random = seeded(2);
    for (let second = 0; second < 1_000; second++) viewers = nextViewers(viewers, 1_000, random);
    expect(viewers).toBeGreaterThan(300);
  });

  test("begin small, in the second that they begin", () => {
    const live = newLivestream(person, now + 789, seeded(3));
    expect(live.viewers).toBeLessThanOrEqual(person.typicalViewers);
    expect(live.started_at).toBe("2026-01-14T16:00:00.000Z");
  });

  test("start and end so that about as many are live after a long time", () => {
    const random = seeded(4);
    const live = new Map(sample.livestreams.map((one) => [one.channel_id, one]));
    const sizes: number[] = [];
    for (let step = 0; step < 5_000; step++) {
      const { channel } = nextToChange(sample.people, live, random);
      if (!live.delete(channel.id)) {
        live.set(channel.id, {
          channel_id: channel.id,
          category_id: 1,
          viewers: 1,
          title: "",
          language: "",
          started_at: "",
        });
      }
      sizes.push(live.size);
    }
    expect(Math.min(...sizes)).toBeGreaterThan(typicallyLive / 2);
    expect(Math.max(...sizes)).toBeLessThan(typicallyLive * 1.6);
    // Someone can be chosen when nobody is live.
    expect(nextToChange(sample.people, new Map(), () => 0)).toBeDefined();
  });
});
