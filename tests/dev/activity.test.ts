import { describe, expect, test } from "bun:test";
import { generateEvent, nextEvent, type Scene } from "../../src/dev/activity.ts";
import { pick, seeded, weighted } from "../../src/dev/chance.ts";
import { summaryOf } from "../../src/dev/receiver.ts";
import { sampleData } from "../../src/dev/sample-data.ts";
import { builtInEventTypes } from "../../src/domain/events/built-in.ts";
import { checkPayload } from "../../src/domain/events/catalogue.ts";

const now = Date.parse("2026-01-14T16:00:00Z");
const sample = sampleData(now);
const pictures = { profile: "http://a/p.png", icon: "http://a/i.png" };

function scene(random: () => number, live: boolean): Scene {
  const broadcaster = pick(random, sample.people);
  const stream = {
    channel_id: broadcaster.channel.id,
    category_id: 1,
    viewers: 5,
    title: "Old",
    language: "en",
  };
  return {
    broadcaster,
    live: live ? { ...stream, started_at: "2026-01-14T15:00:00Z" } : null,
    people: sample.people,
    categories: sample.categories,
    pictures,
    id: "01KEYN2Q9GZ4T7RFDX6M8V3BHC",
    now,
    random,
  };
}

describe("generated events", () => {
  test.each(builtInEventTypes.map((type) => [type.name, type] as const))(
    "%s always fit the catalogue",
    (name, type) => {
      const random = seeded(7);
      for (let i = 0; i < 200; i++) {
        const { data } = generateEvent(name, scene(random, i % 2 === 0));
        expect(checkPayload(type, data)).toEqual([]);
        const { broadcaster, text } = summaryOf(JSON.stringify({ type: name, version: 1, data }));
        expect(broadcaster).not.toBe("");
        expect(text).not.toBe("");
        expect(text).not.toContain("undefined");
      }
    },
  );

  test("are the same for the same random numbers", () => {
    const make = () => JSON.stringify(generateEvent("chat.message.sent", scene(seeded(5), true)));
    expect(make()).toBe(make());
  });

  test("no user follows or pays themselves", () => {
    const random = seeded(8);
    for (let i = 0; i < 500; i++) {
      const { data } = generateEvent("channel.followed", scene(random, true)) as {
        data: { broadcaster: { user_id: number }; follower: { user_id: number } };
      };
      expect(data.follower.user_id).not.toBe(data.broadcaster.user_id);
    }
  });

  test("of a livestream describe its real state", () => {
    const ended = generateEvent("livestream.status.updated", scene(seeded(1), true));
    expect(ended.livestream).toBe("ended");
    expect(ended.data).toMatchObject({ is_live: false, title: "Old", started_at: "2026-01-14T15:00:00Z" });
    const started = generateEvent("livestream.status.updated", scene(seeded(1), false));
    expect(started.livestream).toMatchObject({ started_at: "2026-01-14T16:00:00.000Z" });
    expect(started.data).toMatchObject({ is_live: true, ended_at: null });
  });

  test("are chosen among subscribed events that can happen", () => {
    expect(nextEvent([], Math.random)).toBeNull();
    expect(nextEvent([{ event: "of.another.kind", live: true }], Math.random)).toBeNull();
    expect(nextEvent([{ event: "livestream.metadata.updated", live: false }], Math.random)).toBeNull();
    const random = seeded(6);
    const wanted = ["chat.message.sent", "moderation.banned", "toString"].map((event) => ({
      event,
      live: true,
    }));
    const counts = new Map<string, number>();
    for (let i = 0; i < 2_000; i++) {
      const event = nextEvent(wanted, random)?.event ?? "";
      counts.set(event, (counts.get(event) ?? 0) + 1);
    }
    expect([...counts.keys()].sort()).toEqual(["chat.message.sent", "moderation.banned"]);
    expect(counts.get("chat.message.sent")).toBeGreaterThan((counts.get("moderation.banned") ?? 0) * 10);
    expect(() => generateEvent("of.another.kind", scene(random, true))).toThrow(RangeError);
  });

  test("invalid bodies have no summary", () => {
    for (const body of ["", "null", "[]", "{", '{"type":"chat.message.sent","version":1,"data":{}}']) {
      expect(summaryOf(body).text).toBe("");
    }
  });
});

describe("chance", () => {
  test("picks only entries with a weight above zero, also for the extreme random numbers", () => {
    const weight = (item: number) => item;
    expect(weighted(() => 0, [0, 0.1, 0.2, 0], weight)).toBe(0.1);
    expect(weighted(() => 0.999_999_999_999_999_9, [0, 0.1, 0.2, 0], weight)).toBe(0.2);
    expect(() => weighted(Math.random, [0], weight)).toThrow(RangeError);
    expect(() => pick(Math.random, [])).toThrow(RangeError);
  });
});
