import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { Catalogue } from "../../../src/domain/events/catalogue.ts";
import { conditionLimits, operatorNames, readCondition } from "../../../src/domain/events/conditions.ts";
import { Shape } from "../../../src/domain/events/shape.ts";
import { arbitraryCondition, arbitraryPayload, slowlyMatches } from "../../support/conditions.ts";
import { holds } from "../../support/property.ts";

const chatType = new Catalogue().find("chat.message.sent", 1);
if (!chatType) throw new Error("The catalogue lacks the type");
const chat = chatType.example as Record<string, unknown>;
const fields = Object.keys(chat);

function matches(condition: unknown, data: unknown): boolean {
  const read = readCondition(condition, "filter");
  if ("problems" in read) throw new Error(JSON.stringify(read.problems));
  return read.condition.matches(data);
}

describe("a condition on a chat message", () => {
  const message = { ...chat, content: "!help me" };
  test.each<[string, unknown, boolean]>([
    ["the text begins with", { content: { $startsWith: "!" } }, true],
    ["the text begins with another", { content: { $startsWith: "?" } }, false],
    ["the text ends with", { content: { $endsWith: " me" } }, true],
    ["the text contains", { content: { $contains: "help" } }, true],
    ["the text contains another case", { content: { $contains: "HELP" } }, false],
    ["a pattern, unanchored", { content: { $regex: "h.lp" } }, true],
    ["a pattern without regard to case", { content: { $regex: "^(?i:!HELP)\\b" } }, true],
    ["a pattern that does not match", { content: { $regex: "^help" } }, false],
    ["a badge of the sender", { sender: { identity: { badges: { type: "moderator" } } } }, true],
    ["a badge that the sender lacks", { sender: { identity: { badges: { type: "vip" } } } }, false],
    [
      "two facts of one badge",
      { sender: { identity: { badges: { type: "subscriber", count: { $gte: 7 } } } } },
      true,
    ],
    [
      "two facts, each of another badge",
      { sender: { identity: { badges: { type: "moderator", count: { $gte: 7 } } } } },
      false,
    ],
    [
      "one of several badges",
      { sender: { identity: { badges: { type: { $in: ["vip", "moderator"] } } } } },
      true,
    ],
    ["no such badge", { sender: { identity: { badges: { $not: { type: "moderator" } } } } }, false],
    ["no badge of another type", { sender: { identity: { badges: { $not: { type: "vip" } } } } }, true],
    ["any badge that is not", { sender: { identity: { badges: { type: { $neq: "moderator" } } } } }, true],
    ["a list in a list", { emotes: { positions: { s: { $gt: 40 }, e: { $lt: 60 } } } }, true],
    ["a list in a list, of two items", { emotes: { positions: { s: { $gt: 40 }, e: { $lt: 30 } } } }, false],
    ["it is a reply", { replies_to: { $exist: true } }, true],
    ["it is no reply", { replies_to: null }, false],
    ["both", { content: { $startsWith: "!", $endsWith: "me" } }, true],
    ["one of two", { $or: [{ content: "x" }, { sender: { username: "ninja_fox" } }] }, true],
    [
      "both of two",
      { $and: [{ content: { $contains: "x" } }, { sender: { username: "ninja_fox" } }] },
      false,
    ],
    ["beside other fields", { content: { $contains: "!" }, $not: { sender: { is_verified: true } } }, false],
  ])("%s", (_, condition, expected) => expect(matches(condition, message)).toBe(expected));
});

describe("a value", () => {
  test.each<[unknown, unknown, boolean]>([
    // A value that is absent is null.
    [{ a: null }, {}, true],
    [{ a: null }, { a: null }, true],
    [{ a: { $exist: false } }, { a: null }, true],
    [{ a: { $exist: true } }, { a: 0 }, true],
    [{ a: { $exist: true } }, { a: [] }, true],
    [{ a: { b: { $exist: false } } }, {}, true],
    [{ a: { $neq: 1 } }, {}, true],
    [{ a: { $nin: [1] } }, {}, true],
    [{ a: { $nin: [null] } }, {}, false],
    [{ a: { $not: 1 } }, {}, true],
    [{ a: { $lt: 1 } }, {}, false],
    // Types are not converted.
    [{ a: 1 }, { a: "1" }, false],
    [{ a: { $gt: 1 } }, { a: "2" }, false],
    [{ a: { $startsWith: "1" } }, { a: 12 }, false],
    [{ a: false }, { a: 0 }, false],
    // Lists.
    [{ a: 1 }, { a: [2, 1] }, true],
    [{ a: 1 }, { a: [] }, false],
    [{ a: { $neq: 1 } }, { a: [2, 1] }, false],
    [{ a: { $nin: [1, 3] } }, { a: [2] }, true],
    [{ a: { $gt: 1, $lt: 3 } }, { a: [0, 4] }, false],
    [{ a: { $and: [{ $gt: 1 }, { $lt: 3 }] } }, { a: [0, 4] }, true],
    [{ a: 1 }, { a: [[0, [1]]] }, true],
    // Bounds.
    [{ a: { $gt: 1 } }, { a: 1 }, false],
    [{ a: { $gte: 1 } }, { a: 1 }, true],
    [{ a: { $lte: 1 } }, { a: 1 }, true],
    [{ a: { $lt: 1.5 } }, { a: 1.4 }, true],
    // Names that objects inherit.
    [{ constructor: { $exist: true } }, {}, false],
    [{ toString: null }, {}, true],
    [JSON.parse('{"__proto__": {"x": 1}}'), JSON.parse('{"__proto__": {"x": 1}}'), true],
    [JSON.parse('{"__proto__": {"x": 1}}'), {}, false],
  ])("%j of %j: %j", (condition, data, expected) => expect(matches(condition, data)).toBe(expected));
});

test("a condition and a slow, literal reading of its rules agree on random payloads", () => {
  let held = 0;
  let failed = 0;
  const runs = 3_000;
  holds(
    fc.property(arbitraryCondition, arbitraryPayload, (condition, data) => {
      const is = matches(condition, data);
      if (is) held++;
      else failed++;
      expect({ condition, data, is }).toEqual({ condition, data, is: slowlyMatches(condition, data) });
    }),
    { numRuns: runs },
  );
  // Neither outcome is rare, or agreement would mean little.
  expect(Math.min(held, failed)).toBeGreaterThan(runs / 10);
});

describe("a refused condition", () => {
  const shape = Shape.of([chatType.payload]);
  const problemsOf = (condition: unknown) => {
    const read = readCondition(condition, "filters.x", { shape, type: "chat.message.sent" });
    return "problems" in read ? read.problems.map(({ field, message }) => `${field} ${message}`) : [];
  };
  test.each<[unknown, string]>([
    [3, 'filters.x must be an object, such as {"content": {"$startsWith": "!"}}'],
    [{}, "filters.x must not be empty"],
    [{ content: {} }, "filters.x.content must not be empty"],
    [
      { contnet: "!" },
      `filters.x.contnet is not a field of chat.message.sent here; there are ${fields.join(", ")}`,
    ],
    [{ "sender.username": "a" }, 'a field of an object is written inside it: {"sender": {…}}'],
    [
      { sender: { identity: { badges: { kind: "x" } } } },
      "badges.kind is not a field of chat.message.sent here; there are text, type, count",
    ],
    [
      { content: { text: "x" } },
      "filters.x.content.text cannot be: a string in chat.message.sent has no fields",
    ],
    [{ content: 5 }, "filters.x.content can never be a number: this is a string in chat.message.sent"],
    [
      { sender: { is_anonymous: true } },
      "filters.x.sender.is_anonymous can only be false in chat.message.sent",
    ],
    [
      { sender: { is_verified: true, user_id: "3" } },
      "sender.user_id can never be a string: this is a number",
    ],
    [
      { sender: { user_id: { $startsWith: "3" } } },
      "user_id.$startsWith compares with a string, but this is a number",
    ],
    [{ content: { $gt: 3 } }, "content.$gt compares with a number, but this is a string"],
    [{ sender: { user_id: { $gt: "3" } } }, "user_id.$gt must be a number"],
    [{ content: { $startsWith: 3 } }, "content.$startsWith must be a text that is not empty"],
    [{ content: { $contains: "" } }, "content.$contains must be a text that is not empty"],
    [
      { content: { $startWith: "!" } },
      `content.$startWith is not an operator; there are ${operatorNames.join(", ")}`,
    ],
    [{ content: { $ne: "!" } }, "content.$ne is not an operator; use $neq"],
    [{ content: { $exist: "yes" } }, "content.$exist must be true or false"],
    [{ content: { $in: "a" } }, "content.$in must be a list of values, which is not empty"],
    [{ content: { $in: ["a", 3] } }, "content.$in[1] can never be a number"],
    [
      { content: ["a", "b"] },
      'content must be a text, a number, true, false or null; for one of several values, use "$in"',
    ],
    [{ $or: [] }, "filters.x.$or must be a list of conditions, which is not empty"],
    [{ $or: [{ content: "a" }, { nothing: 1 }] }, "filters.x.$or[1].nothing is not a field"],
    [{ $not: { content: { $regex: "(" } } }, "filters.x.$not.content.$regex is not a regular expression"],
    [{ content: { $regex: "(a)\\1" } }, "content.$regex has the pattern"],
    [{ content: { $regex: "a{301}" } }, "content.$regex is too large"],
    [
      { $and: [{ content: { $regex: "a{200}" } }, { content: { $regex: "b{200}" } }] },
      "$and[1].content.$regex is too large",
    ],
    [{ content: "é".repeat(2_100) }, "filters.x must be at most 4096 bytes as JSON, and has 4214"],
  ])("%j: %s", (condition, problem) => {
    expect(problemsOf(condition).join("\n")).toContain(problem);
  });

  test("has all of its problems, at most 20", () => {
    expect(problemsOf({ a: 1, content: { $gt: 1 }, $or: [{ b: 1 }] })).toHaveLength(3);
    expect(problemsOf(Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`f${i}`, 1])))).toHaveLength(
      20,
    );
  });

  test("may be as large as the limits, and not larger", () => {
    const nested = (levels: number) => {
      let condition: unknown = { content: "x" };
      for (let i = 1; i < levels; i++) condition = { $not: condition };
      return condition;
    };
    expect(problemsOf(nested(conditionLimits.depth))).toEqual([]);
    expect(problemsOf(nested(conditionLimits.depth + 1)).join()).toContain("at most 16 levels deep");
    const parts = (count: number) => ({ $or: Array.from({ length: count - 1 }, () => ({ content: "x" })) });
    expect(problemsOf(parts(conditionLimits.parts))).toEqual([]);
    expect(problemsOf(parts(conditionLimits.parts + 1)).join()).toContain("at most 100 fields and operators");
    expect(problemsOf({ content: `${"x".repeat(conditionLimits.bytes - 14)}` })).toEqual([]);
  });
});

test("fields that the schema leaves open, and those of a registered type, are accepted as far as it allows them", () => {
  const wrong = (schema: Record<string, unknown>, condition: unknown) => {
    const read = readCondition(condition, "f", { shape: Shape.of([schema]), type: "t" });
    return "problems" in read ? read.problems.map(({ field }) => field) : [];
  };
  const closed = { type: "object", additionalProperties: false };
  expect(wrong({ type: "object" }, { anything: { inside: 1 } })).toEqual([]);
  expect(wrong({ ...closed, properties: { a: true } }, { a: { b: 1 } })).toEqual([]);
  expect(wrong({ ...closed, properties: { a: {} } }, { b: 1 })).toEqual(["f.b"]);
  expect(wrong({ type: "object", additionalProperties: { type: "string" } }, { b: 1 })).toEqual(["f.b"]);
  const tree = {
    $defs: { node: { ...closed, properties: { name: { type: "string" }, next: { $ref: "#/$defs/node" } } } },
    ...closed,
    properties: { root: { $ref: "#/$defs/node" } },
  };
  expect(wrong(tree, { root: { next: { next: { name: "x" } } } })).toEqual([]);
  expect(wrong(tree, { root: { next: { next: { label: "x" } } } })).toEqual(["f.root.next.next.label"]);
  const either = {
    anyOf: [
      { ...closed, properties: { a: { type: "string" } } },
      { ...closed, properties: { b: { type: ["number", "null"] } } },
    ],
  };
  expect(wrong(either, { a: "x", b: 1 })).toEqual([]);
  expect(wrong(either, { b: "x", c: 1 })).toEqual(["f.b", "f.c"]);
  expect(
    wrong({ ...closed, properties: { l: { type: "array", items: { enum: ["a", "b"] } } } }, { l: "c" }),
  ).toEqual(["f.l"]);
  expect(
    wrong(
      { ...closed, properties: { l: { type: "array", prefixItems: [{ type: "string" }], items: false } } },
      { l: 1 },
    ),
  ).toEqual(["f.l"]);
  expect(wrong({ ...closed, patternProperties: { "^x": {} } }, { x1: 1 })).toEqual([]);
  // References that have no end, or lead elsewhere.
  expect(wrong({ $ref: "#" }, { a: 1 })).toEqual(["f.a"]);
  expect(wrong({ type: "object", properties: { a: { $ref: "other.json" } } }, { a: { b: 1 } })).toEqual([]);
});

test("the work of one evaluation is bounded: an event that takes more matches", () => {
  const long = "a".repeat(1_000_000);
  const list = Array.from({ length: 1_000_000 }, () => ({ a: "x" }));
  for (const [condition, data] of [
    [{ a: { $regex: "[ab]*a[ab]{200}$" } }, { a: long }],
    [{ l: { a: "y" } }, { l: list }],
    [{ a: { $contains: `${"a".repeat(3_000)}b` } }, { a: long }],
  ] as const) {
    const begun = performance.now();
    expect(matches(condition, data)).toBe(true);
    expect(performance.now() - begun).toBeLessThan(2_000);
  }
  // What a chat message can have is within the bound.
  expect(matches({ a: { $regex: "[ab]*a[ab]{200}$" } }, { a: "a".repeat(500) })).toBe(true);
  expect(matches({ a: { $regex: "[ab]*b[ab]{200}$" } }, { a: "a".repeat(500) })).toBe(false);
});
