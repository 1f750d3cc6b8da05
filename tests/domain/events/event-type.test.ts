import { expect, test } from "bun:test";
import { builtInEventTypes } from "../../../src/domain/events/built-in.ts";
import { checkPayload } from "../../../src/domain/events/catalogue.ts";
import { happeningAt, inChannelOf } from "../../../src/domain/events/event-type.ts";

const now = Date.parse("2026-11-28T12:00:00.000Z");
const luna = { id: 7, username: "Luna", is_verified: false, profile_picture: null, channel_slug: "moon" };

test("the sample of each built-in type is of the chosen channel, happens now, and fits its schema", () => {
  for (const type of builtInEventTypes) {
    const sample = inChannelOf(luna, happeningAt(now, type.example)) as {
      readonly broadcaster: Record<string, unknown>;
    };
    expect([type.name, checkPayload(type, sample)]).toEqual([type.name, []]);
    const { user_id, username, channel_slug, profile_picture } = sample.broadcaster;
    expect([user_id, username, channel_slug, profile_picture]).toEqual([7, "Luna", "moon", ""]);
    const text = JSON.stringify(sample);
    expect([type.name, /"2026-01/.test(text)]).toEqual([type.name, false]);
    const hasTime = /T\d\d:\d\d/.test(JSON.stringify(type.example));
    expect([type.name, text.includes("2026-11-28T12:00:00.000Z")]).toEqual([type.name, hasTime]);
  }
});

test("the times of a sample keep their distances; what is no time or person stays", () => {
  const payload = {
    at: "2026-01-01T00:00:00Z",
    list: [{ until: "2026-01-01T00:10:00.5Z" }],
    text: "2026",
    n: null,
  };
  expect(happeningAt(now, payload)).toEqual({
    ...payload,
    at: "2026-11-28T12:00:00.000Z",
    list: [{ until: "2026-11-28T12:10:00.500Z" }],
  });
  const own = { broadcaster: "luna", text: "hi" };
  expect(happeningAt(now, inChannelOf(luna, own))).toEqual(own);
});
