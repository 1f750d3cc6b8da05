import { describe, expect, test } from "bun:test";
import type { Static } from "@sinclair/typebox";
import {
  builtInEventTypes,
  channelSubscriptionGifts,
  chatMessageSent,
  findEventType,
  kicksGifted,
} from "../../../src/domain/events/built-in.ts";
import { checkPayload } from "../../../src/domain/events/catalogue.ts";
import type { EventType } from "../../../src/domain/events/event-type.ts";

/** Fields that may be absent. */
const optional = new Set(["count", "replies_to", "pinned_time_seconds"]);

const contract = [
  "chat.message.sent",
  "channel.followed",
  "channel.subscription.new",
  "channel.subscription.renewal",
  "channel.subscription.gifts",
  "channel.reward.redemption.updated",
  "livestream.status.updated",
  "livestream.metadata.updated",
  "moderation.banned",
  "kicks.gifted",
];

type Path = readonly (string | number)[];

/** Paths of every object, and of everything else, inside a value. */
function pathsOf(value: unknown, at: Path = []): { objects: Path[]; leaves: Path[] } {
  if (typeof value !== "object" || value === null) return { objects: [], leaves: [at] };
  const isArray = Array.isArray(value);
  const found = { objects: isArray ? [] : [at], leaves: isArray ? [at] : [] };
  for (const [key, child] of Object.entries(value)) {
    const inner = pathsOf(child, [...at, isArray ? Number(key) : key]);
    found.objects.push(...inner.objects);
    found.leaves.push(...inner.leaves);
  }
  return found;
}

/** A copy of the value with the container of `path` changed. */
function changed(value: unknown, path: Path, change: (container: object, key: string | number) => void) {
  const copy: unknown = structuredClone(value);
  const last = path.at(-1);
  let here: unknown = copy;
  for (const key of path.slice(0, -1)) here = Reflect.get(here as object, key);
  if (last !== undefined) change(here as object, last);
  return copy;
}

const set = (value: unknown, path: Path, to: unknown) =>
  changed(value, path, (container, key) => Reflect.set(container, key, to));

function field(path: Path): string {
  return path.reduce<string>(
    (name, key) => (typeof key === "number" ? `${name}[${key}]` : `${name}.${key}`),
    "data",
  );
}

const inBody = (path: Path, message: string) => [{ in: "body" as const, field: field(path), message }];

const rules = [
  {
    fields: /^user_id$/,
    wrong: [0, -1, 1.5, 2 ** 53, "1", null],
    says: /^must be an integer from 1 to 9007199254740991$/,
  },
  {
    fields: /_at$/,
    wrong: [
      "2026-01-14",
      "2026-01-14T16:08:06",
      "2026-01-14T16:08:06+0100",
      "2026-01-14T16:08:06+24:00",
      "2026-01-14T16:08:06 01:00",
      "2026-13-14T16:08:06Z",
      "2026-01-14T24:08:06Z",
      "2026-01-14T16:08:06.Z",
      "2026-01-14T16:08:06Z\n",
      "",
    ],
    says: /^must be a timestamp like 2026-01-14T16:08:06Z( or null)?$/,
  },
  { fields: /_at$/, wrong: [1768406886, true, {}], says: /^must be a string( or null)?$/ },
];

test("the catalogue has the ten events of version 1", () => {
  expect(builtInEventTypes.map(({ name }) => name)).toEqual(contract);
  expect(builtInEventTypes.map(({ version }) => version)).toEqual(contract.map(() => 1));
});

test("only chat messages have a short time to live", () => {
  const limited = builtInEventTypes.filter(({ timeToLiveMs }) => timeToLiveMs !== null);
  expect(limited).toEqual([chatMessageSent]);
  expect(chatMessageSent.timeToLiveMs).toBe(600_000);
});

test("a type is found by its exact name and version", () => {
  for (const type of builtInEventTypes) expect(findEventType(type.name, type.version)).toBe(type);
  expect(findEventType("channel.followed", 2)).toBeUndefined();
  expect(findEventType("Channel.Followed", 1)).toBeUndefined();
  expect(findEventType("toString", 1)).toBeUndefined();
});

describe.each(builtInEventTypes.map((type): [string, EventType] => [type.name, type]))("%s", (_, type) => {
  const { objects, leaves } = pathsOf(type.example);

  test("has a description and an example that fits, also after a round trip as JSON", () => {
    expect(type.description).toMatch(/^[A-Z].*\.$/);
    expect(checkPayload(type, type.example)).toEqual([]);
    expect(checkPayload(type, JSON.parse(JSON.stringify(type.example)))).toEqual([]);
  });

  test("refuses what is not an object", () => {
    for (const value of [null, undefined, [], "x", 1, true]) {
      expect(checkPayload(type, value)).toEqual(inBody([], "must be an object"));
    }
  });

  test("requires every field but the optional ones", () => {
    for (const path of [...objects, ...leaves]) {
      const key = path.at(-1);
      if (typeof key !== "string" || optional.has(key)) continue;
      const data = changed(type.example, path, (container) => Reflect.deleteProperty(container, key));
      expect(checkPayload(type, data)).toEqual(inBody(path, "is required"));
    }
  });

  test("names all required fields at once", () => {
    const names = Object.keys(type.payload["properties"])
      .filter((name) => !optional.has(name))
      .map((name) => `data.${name}`);
    expect(checkPayload(type, {}).map((problem) => problem.field)).toEqual(names);
  });

  test("refuses unknown fields everywhere", () => {
    for (const object of objects) {
      for (const name of ["surprise", "__proto__", "constructor"]) {
        const path = [...object, name];
        const data = changed(type.example, path, (container) =>
          Object.defineProperty(container, name, { value: { user_id: 1 }, enumerable: true }),
        );
        expect(checkPayload(type, data)).toEqual(inBody(path, `is not a field of ${type.name}`));
      }
    }
  });

  test("never repeats a value", () => {
    const secret = "SECRET-".repeat(2000);
    for (const value of [secret, [secret], { key: secret }, -987654321.5]) {
      for (const path of leaves) {
        const found = checkPayload(type, set(type.example, path, value));
        expect(found).not.toEqual([]);
        for (const problem of found) {
          expect(problem.message).not.toMatch(/SECRET|987654321\.5/);
          expect(problem.field).toStartWith(field(path));
        }
      }
    }
  });

  test("refuses ids outside 1 to 2^53-1 and bad timestamps", () => {
    for (const path of leaves) {
      for (const rule of rules.filter(({ fields }) => fields.test(String(path.at(-1))))) {
        for (const value of rule.wrong) {
          const [problem, ...others] = checkPayload(type, set(type.example, path, value));
          expect(others).toEqual([]);
          expect(problem?.field).toBe(field(path));
          expect(problem?.message).toMatch(rule.says);
        }
      }
    }
  });
});

describe("people", () => {
  const gifts = channelSubscriptionGifts.example;
  const hidden = {
    is_anonymous: true,
    user_id: null,
    username: null,
    is_verified: null,
    profile_picture: null,
    channel_slug: null,
    identity: null,
  };
  const cases: [string, unknown, [string, string][]][] = [
    ["hidden", { ...gifts, gifter: hidden }, []],
    [
      "hidden yet named",
      { ...gifts, gifter: { ...hidden, username: "ninja_fox" } },
      [["data.gifter.username", "must be null"]],
    ],
    [
      "not hidden yet unnamed",
      { ...gifts, gifter: { ...hidden, is_anonymous: false } },
      [
        ["data.gifter.user_id", "must be an integer from 1 to 9007199254740991"],
        ["data.gifter.username", "must be a string"],
        ["data.gifter.is_verified", "must be a boolean"],
        ["data.gifter.profile_picture", "must be a string"],
        ["data.gifter.channel_slug", "must be a string"],
      ],
    ],
    [
      "undecided",
      { ...gifts, gifter: { ...hidden, is_anonymous: "no" } },
      [["data.gifter.is_anonymous", "must be a boolean"]],
    ],
    [
      "hidden in a field without anonymity",
      { ...gifts, broadcaster: { ...gifts.broadcaster, is_anonymous: true } },
      [["data.broadcaster.is_anonymous", "must be false"]],
    ],
    [
      "one of many is wrong",
      { ...gifts, giftees: [gifts.broadcaster, { ...gifts.broadcaster, username: "a b" }] },
      [["data.giftees[1].username", "must be 1 to 64 of the characters A-Z a-z 0-9 _ -"]],
    ],
  ];
  test.each(cases)("%s", (_, data, expected) => {
    const found = checkPayload(channelSubscriptionGifts, data);
    expect(found.map(({ field, message }) => [field, message] as [string, string])).toEqual(expected);
  });
});

describe("details", () => {
  test("positions of the example's emotes are where its content has them", () => {
    const { content, emotes } = chatMessageSent.example;
    for (const { emote_id, positions } of emotes) {
      for (const { s, e } of positions) expect(content.slice(s, e + 1)).toBe(`[emote:${emote_id}:gg]`);
    }
  });

  test("nullable fields accept null", () => {
    const chat: Static<typeof chatMessageSent.payload> = { ...chatMessageSent.example, replies_to: null };
    expect(checkPayload(chatMessageSent, chat)).toEqual([]);
    const gift = { ...kicksGifted.example.gift, pinned_time_seconds: null };
    expect(checkPayload(kicksGifted, { ...kicksGifted.example, gift })).toEqual([]);
  });

  const bounds: [EventType, Path, unknown, string][] = [
    [chatMessageSent, ["content"], "a".repeat(10_001), "must be at most 10000 characters"],
    [chatMessageSent, ["emotes"], Array(501).fill(null), "must have at most 500 items"],
    [chatMessageSent, ["sender", "identity", "username_color"], "red", "must be a colour like #FF5733"],
    [channelSubscriptionGifts, ["giftees"], [], "must have 1 to 1000 items"],
    [kicksGifted, ["gift", "amount"], 0, "must be an integer from 1 to 9007199254740991"],
  ];
  test.each(bounds)("bound %#", (type, path, value, message) => {
    expect(checkPayload(type, set(type.example, path, value))[0]).toEqual({
      in: "body",
      field: field(path),
      message,
    });
  });

  test("a reward's status is one of three", () => {
    const type = findEventType("channel.reward.redemption.updated", 1);
    if (type === undefined) throw new Error("no such type");
    for (const status of ["pending", "accepted", "rejected"]) {
      expect(checkPayload(type, set(type.example, ["status"], status))).toEqual([]);
    }
    expect(checkPayload(type, set(type.example, ["status"], "fulfilled"))).toEqual(
      inBody(["status"], "must be one of pending, accepted, rejected"),
    );
  });
});
