import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type FilterForm, fieldsOf, formOf, inWords, lineAt, written } from "../../src/web/filters/form.ts";
import { arbitraryCondition, arbitraryPayload, slowlyMatches } from "../support/conditions.ts";
import { holds } from "../support/property.ts";

/* Filters as forms: which of them a form can show, and what it stands for. */

const fields = fieldsOf([
  {
    type: "object",
    properties: {
      text: { type: "string" },
      count: { anyOf: [{ type: "integer" }, { type: "null" }] },
      mode: { enum: ["on", "off"] },
      sender: {
        type: "object",
        properties: {
          name: { type: "string" },
          badges: {
            type: "array",
            items: {
              type: "object",
              properties: { type: { type: "string" }, mod: { type: "boolean" }, months: { type: "integer" } },
            },
          },
        },
      },
    },
  },
]);
const badges = ["sender", "badges"];

test("the fields are those of the schema, through lists, the upper ones first", () => {
  expect(fields.map(({ path, kind }) => `${path.join(".")} ${kind}`)).toEqual([
    "text text",
    "count number",
    "mode text",
    "sender object",
    "sender.name text",
    "sender.badges object",
    "sender.badges.type text",
    "sender.badges.mod boolean",
    "sender.badges.months number",
  ]);
  expect(fields[2]?.values).toEqual(["on", "off"]);
});

test("the fields of a schema that contains itself have an end", () => {
  const node = { type: "object", properties: { next: { $ref: "#" }, other: { $ref: "#" } } };
  expect(fieldsOf([node]).length).toBeWithin(2, 301);
});

const forms: readonly [string, FilterForm, object, readonly string[]][] = [
  [
    "a text",
    { join: "all", lines: [{ path: ["text"], condition: "$startsWith", value: "!" }] },
    { text: { $startsWith: "!" } },
    ["text.$startsWith"],
  ],
  [
    "conditions on the same item of a list",
    {
      join: "all",
      lines: [
        { path: [...badges, "type"], condition: "$eq", value: "subscriber" },
        { path: [...badges, "months"], condition: "$gte", value: "6" },
      ],
    },
    { sender: { badges: { type: "subscriber", months: { $gte: 6 } } } },
    ["sender.badges.type.$eq", "sender.badges.months.$gte"],
  ],
  [
    "the same condition twice",
    {
      join: "all",
      lines: [
        { path: ["text"], condition: "$contains", value: "a" },
        { path: ["text"], condition: "$contains", value: "b" },
      ],
    },
    { $and: [{ text: { $contains: "a" } }, { text: { $contains: "b" } }] },
    ["$and[0].text.$contains", "$and[1].text.$contains"],
  ],
  [
    "one of several",
    {
      join: "any",
      lines: [
        { path: ["count"], condition: "$in", value: "1, 2" },
        { path: [...badges, "mod"], condition: "$eq", value: "true" },
        { path: ["sender"], condition: "absent", value: "" },
      ],
    },
    {
      $or: [{ count: { $in: [1, 2] } }, { sender: { badges: { mod: true } } }, { sender: { $exist: false } }],
    },
    ["$or[0].count.$in", "$or[1].sender.badges.mod.$eq", "$or[2].sender.$exist"],
  ],
  [
    "a value that is not typed yet",
    { join: "all", lines: [{ path: ["count"], condition: "$gt", value: "" }] },
    { count: { $gt: "" } },
    ["count.$gt"],
  ],
];

test.each(forms)(
  "a form of %s is a condition, and the condition is that form",
  (_, form, condition, places) => {
    expect(written(form, fields)).toEqual({ condition: condition as never, places });
    expect(formOf(condition, fields)).toEqual(form);
  },
);

test.each([
  [{ sender: { badges: { $not: { type: "vip" } } } }],
  [{ $or: [{ text: "a" }, { text: "b", count: 1 }] }],
  [{ $or: [{ text: "a" }, { text: "b" }], count: 1 }],
  // For items of their own, which one object is not.
  [{ $and: [{ sender: { badges: { type: "a" } } }, { sender: { badges: { months: 6 } } }] }],
  [{ text: { $in: ["a, b"] } }],
  [{ text: 5 }],
  [{ text: null }],
  [{ unknown: "a" }],
  [{ text: { $startWith: "!" } }],
  [{ $and: [] }],
  [{}],
  [null],
  [["text"]],
])("%j is too complex for a form", (condition) => {
  expect(formOf(condition, fields)).toBeNull();
});

test("a form stands for the same condition, for random conditions and payloads", () => {
  const inner = { a: { type: "string" }, b: { type: "array", items: {} } };
  const fields = fieldsOf([
    { type: "object", properties: { a: {}, b: { type: "object", properties: inner } } },
    { type: "object", properties: { a: { type: "object", properties: inner }, b: { type: "number" } } },
  ]);
  let shown = 0;
  holds(
    fc.property(arbitraryCondition, fc.array(arbitraryPayload, { minLength: 5 }), (condition, payloads) => {
      const form = formOf(condition, fields);
      if (form === null) return;
      shown++;
      const { condition: same } = written(form, fields);
      for (const payload of payloads)
        expect([payload, slowlyMatches(same, payload)]).toEqual([payload, slowlyMatches(condition, payload)]);
    }),
  );
  expect(shown).toBeGreaterThan(5);
});

describe("a condition in words", () => {
  test.each([
    [{ text: { $startsWith: "!" } }, 'text begins with "!"'],
    [
      { $or: [{ count: { $gte: 6 } }, { sender: { $exist: true } }] },
      "count is at least 6 or sender has a value",
    ],
    [{ text: { $nin: ["a", "b"] } }, 'text is none of "a", "b"'],
    [{ $not: { text: "\u202ea" } }, '{"$not":{"text":"\\u202ea"}}'],
  ])("%j", (condition, words) => {
    expect(inWords(condition, fields)).toBe(words);
  });
});

test("another field keeps what fits it", () => {
  const line = { path: ["text"], condition: "$startsWith", value: "!" } as const;
  const name = ["sender", "name"];
  expect(lineAt(line, name, fields)).toEqual({ ...line, path: name });
  expect(lineAt(line, ["count"], fields)).toEqual({ path: ["count"], condition: "$eq", value: "" });
  expect(lineAt(line, ["sender"], fields)).toEqual({ path: ["sender"], condition: "exists", value: "" });
});
