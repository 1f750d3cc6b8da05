import { describe, expect, test } from "bun:test";
import { type TSchema, Type } from "@sinclair/typebox";
import { maxProblems, problems } from "../../src/domain/validation/problems.ts";

function messages(schema: TSchema, value: unknown): Record<string, string> {
  const found = problems(schema, value, { in: "body" });
  return Object.fromEntries(found.map(({ field, message }) => [field, message]));
}

const closed = { additionalProperties: false };
const nullable = (schema: TSchema) => Type.Union([schema, Type.Null()]);
const status = Type.Union([Type.Literal("pending"), Type.Literal("accepted")]);
const when = Type.String({ pattern: "Z$", errorMessage: "must end in Z" });

describe("the problem of one field says what it must be", () => {
  const cases: [TSchema, unknown, string][] = [
    [Type.String(), 5, "must be a string"],
    [Type.Boolean(), "true", "must be a boolean"],
    [Type.Integer(), 1.5, "must be an integer"],
    [Type.Integer(), "1", "must be an integer"],
    [Type.Number(), null, "must be a number"],
    [Type.Object({}), [], "must be an object"],
    [Type.Array(Type.String()), {}, "must be an array"],
    [Type.Null(), 0, "must be null"],
    [Type.Integer({ minimum: 1, maximum: 100 }), 0, "must be an integer from 1 to 100"],
    [Type.Integer({ minimum: 1, maximum: 100 }), 101, "must be an integer from 1 to 100"],
    [Type.Integer({ minimum: 1, maximum: 100 }), "7", "must be an integer from 1 to 100"],
    [Type.Integer({ minimum: 1 }), 0, "must be an integer of at least 1"],
    [Type.Integer({ maximum: 9 }), 10, "must be an integer of at most 9"],
    [Type.String({ minLength: 3 }), "ab", "must be at least 3 characters"],
    [Type.String({ minLength: 1 }), "", "must be at least 1 character"],
    [Type.String({ maxLength: 100 }), "a".repeat(101), "must be at most 100 characters"],
    [Type.String({ pattern: "^[a-z]+$" }), "A", "does not have the right form"],
    [when, "x", "must end in Z"],
    [when, 5, "must be a string"],
    [Type.Array(Type.Any(), { minItems: 1, maxItems: 2 }), [], "must have 1 to 2 items"],
    [Type.Array(Type.Any(), { minItems: 1, maxItems: 2 }), [1, 2, 3], "must have 1 to 2 items"],
    [Type.Array(Type.Any(), { minItems: 1 }), [], "must have at least 1 item"],
    [Type.Array(Type.Any(), { maxItems: 1 }), [1, 2], "must have at most 1 item"],
    [Type.Array(Type.Any(), { minItems: 2, maxItems: 2 }), [], "must have exactly 2 items"],
    [Type.Array(Type.Any(), { uniqueItems: true }), [1, 1], "must not have the same item twice"],
    [Type.Literal("webhook"), "email", "must be webhook"],
    [status, "gone", "must be one of pending, accepted"],
    [status, 5, "must be one of pending, accepted"],
    [Type.Enum({ Low: "low", High: "high" }), "mid", "must be one of low, high"],
    [Type.Union([Type.Literal(""), Type.Literal("a")]), "b", 'must be one of "", a'],
    [Type.Union([Type.Literal(true), Type.Literal(false)]), "yes", "must be a boolean"],
    [nullable(Type.String()), 5, "must be a string or null"],
    [nullable(when), "x", "must end in Z or null"],
    [nullable(status), "gone", "must be one of pending, accepted or null"],
    [nullable(Type.Integer({ minimum: 0, maximum: 9 })), -1, "must be an integer from 0 to 9 or null"],
    [nullable(Type.Object({})), "x", "must be an object or null"],
    [Type.Union([Type.String(), Type.Integer()]), true, "must be a string or an integer"],
    [Type.Union([Type.String({ minLength: 2 }), Type.Integer()]), "x", "must be at least 2 characters"],
    [Type.Union([nullable(Type.String()), Type.Integer()]), true, "must be a string or an integer or null"],
  ];
  test.each(cases.map(([schema, value, message]): [string, unknown, TSchema] => [message, value, schema]))(
    "%s: %j",
    (message, value, schema) => {
      expect(messages(Type.Object({ it: schema }), { it: value })).toEqual({ it: message });
    },
  );
});

describe("fields", () => {
  const user = Type.Object(
    { id: Type.Integer(), name: Type.String({ minLength: 3, pattern: "^a" }) },
    closed,
  );
  const users = Type.Object({ users: Type.Array(user), note: Type.Optional(Type.String()) }, closed);

  test("a value that fits has no problems", () => {
    expect(messages(users, { users: [{ id: 1, name: "abc" }] })).toEqual({});
  });

  test("all wrong fields are reported at once, each once, by their path", () => {
    expect(messages(users, { users: [{ name: "b", x: 1 }, "u"], note: 5, extra: {} })).toEqual({
      extra: "is not a known field",
      "users[0].id": "is required",
      "users[0].x": "is not a known field",
      "users[0].name": "must be at least 3 characters",
      "users[1]": "must be an object",
      note: "must be a string",
    });
  });

  test("the prefix, the location and the name of the whole value are used", () => {
    const at = { in: "query", prefix: "data", of: "a user" } as const;
    expect(problems(user, { id: 1, name: "abc", x: 1 }, at)).toEqual([
      { in: "query", field: "data.x", message: "is not a field of a user" },
    ]);
    expect(problems(user, 1, at)).toEqual([{ in: "query", field: "data", message: "must be an object" }]);
  });

  test("the whole value is named after its location", () => {
    expect(messages(user, null)).toEqual({ body: "must be an object" });
  });

  test("odd names are taken literally", () => {
    const found = messages(user, { id: 1, name: "abc", "": 1, "a/b~c": 1, "0": 1 });
    expect(Object.keys(found).sort()).toEqual(['""', "0", "a/b~c"]);
  });

  test("long names of unknown fields are shortened", () => {
    const [field] = Object.keys(messages(user, { id: 1, name: "abc", ["k".repeat(100_000)]: 1 }));
    expect(field).toBe(`${"k".repeat(64)}…`);
  });

  test("there are at most twenty problems", () => {
    const many = Array.from({ length: 1000 }, () => ({}));
    expect(Object.keys(messages(users, { users: many }))).toHaveLength(maxProblems);
    const unknown = Object.fromEntries(many.map((_, i) => [`k${i}`, i]));
    expect(Object.keys(messages(users, { users: [], ...unknown }))).toHaveLength(maxProblems);
  });
});

describe("unions of objects", () => {
  const user = Type.Object({ kind: Type.Literal("user"), id: Type.Integer() }, closed);
  const guest = Type.Object({ kind: Type.Literal("guest"), id: Type.Null() }, closed);
  const tagged = Type.Object({ who: Type.Union([user, guest, Type.Null()]) });
  const untagged = Type.Object({
    target: Type.Union([
      Type.Object({ url: Type.String(), secret: Type.String() }, closed),
      Type.Object({ queue: Type.String() }, closed),
    ]),
  });

  const cases: [string, TSchema, unknown, Record<string, string>][] = [
    ["the branch of the tag", tagged, { who: { kind: "user", id: "1" } }, { "who.id": "must be an integer" }],
    ["the other branch", tagged, { who: { kind: "guest", id: 1 } }, { "who.id": "must be null" }],
    ["no tag", tagged, { who: { id: 1 } }, { "who.kind": "is required" }],
    ["a wrong tag", tagged, { who: { kind: "x" } }, { "who.kind": "must be one of user, guest" }],
    ["no object", tagged, { who: 1 }, { who: "must be an object or null" }],
    ["left out", tagged, {}, { who: "is required" }],
    ["the closest", untagged, { target: { url: "u" } }, { "target.secret": "is required" }],
    ["the closest", untagged, { target: { queue: 1 } }, { "target.queue": "must be a string" }],
  ];
  test.each(cases)("%s", (_, schema, value, expected) => {
    expect(messages(schema, value)).toEqual(expected);
  });

  test("a nullable object's fields are checked", () => {
    const schema = Type.Object({ identity: nullable(user) });
    expect(messages(schema, { identity: { kind: "user" } })).toEqual({ "identity.id": "is required" });
  });
});

describe("hostile input", () => {
  const schema = Type.Object(
    { a: Type.Object({ b: Type.String() }, closed), c: Type.Optional(Type.String()) },
    closed,
  );

  test("names from Object.prototype are plain unknown fields", () => {
    const value: unknown = JSON.parse(
      '{"a":{"b":"x","__proto__":{"polluted":1}},"__proto__":{"polluted":1},"constructor":1,"toString":1}',
    );
    const found = problems(schema, value, { in: "body" });
    const fields = found.map(({ field }) => field);
    expect(fields.sort()).toEqual(["__proto__", "a.__proto__", "constructor", "toString"]);
    expect(new Set(found.map(({ message }) => message))).toEqual(new Set(["is not a known field"]));
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
  });

  test("nothing is inherited: required fields under __proto__ do not count", () => {
    expect(messages(schema, JSON.parse('{"__proto__":{"a":{"b":"x"}}}'))).toMatchObject({ a: "is required" });
  });

  test("the value is not changed", () => {
    const value = JSON.parse('{"a":{"b":5,"x":[]},"__proto__":1}');
    const before = JSON.stringify(value);
    problems(schema, value, { in: "body" });
    expect(JSON.stringify(value)).toBe(before);
  });

  test("a huge list is refused without checking its items", () => {
    const list = Type.Object({ list: Type.Array(Type.String(), { maxItems: 2 }), b: Type.String() });
    expect(messages(list, { list: Array(3).fill(1), b: "x" })).toHaveProperty(
      ["list[2]"],
      "must be a string",
    );
    expect(messages(list, { list: Array(100_000).fill(1), b: "x" })).toEqual({
      list: "must have at most 2 items",
    });
  });

  test("a frozen value is fine", () => {
    expect(messages(schema, Object.freeze({ a: 1 }))).toEqual({ a: "must be an object" });
  });
});
