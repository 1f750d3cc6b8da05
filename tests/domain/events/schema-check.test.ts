import { expect, test } from "bun:test";
import type { FieldProblem } from "../../../src/domain/errors.ts";
import { eventTypeOf } from "../../../src/domain/events/catalogue.ts";

/*
 * Without its bound, each of these checks would take seconds, outlast the test run or exhaust memory. No test measures
 * time.
 */

async function typeOf(schema: object) {
  return eventTypeOf({
    name: "tree.grown",
    version: 1,
    description: "",
    schema: { type: "object", ...schema },
    example: {},
    time_to_live_seconds: null,
  });
}

const nested = (depth: number): object => (depth === 0 ? {} : { next: nested(depth - 1) });
const tooMuch: FieldProblem[] = [
  {
    in: "body",
    field: "data",
    message: "cannot be checked, because applying the schema of tree.grown to it takes too many steps",
  },
];

/** A type whose payload has a node under `root`, which this schema refers to as `node`. */
const treeOf = (node: object) => typeOf({ $defs: { node }, properties: { root: { $ref: "#/$defs/node" } } });
const next = { required: ["next"], properties: { next: { $ref: "#/$defs/node" } } };
const anyNext = { properties: next.properties };

test.each<[string, object]>([
  ["anyOf", { anyOf: [next, next] }],
  ["oneOf", { oneOf: [next, next] }],
  ["allOf", { allOf: [anyNext, anyNext] }],
  ["if", { if: next, else: next }],
  ["not", { allOf: [{ not: next }, { not: next }] }],
])(
  "checking a deep payload against a node that refers to itself in two branches of %s is aborted",
  async (_, node) => {
    expect((await treeOf(node)).check?.({ root: nested(60) })).toEqual(tooMuch);
  },
);

test("dynamic references are bounded, too", async () => {
  const dynamic = { properties: { next: { $dynamicRef: "#node" } } };
  const type = await typeOf({ $dynamicAnchor: "node", allOf: [dynamic, dynamic] });
  expect(type.check?.(nested(60))).toEqual(tooMuch);
});

test("a schema in which each definition uses the next one twice aborts the check of any payload", async () => {
  const definitions = Array.from({ length: 60 }, (_, i) => {
    const next = { $ref: `#/$defs/d${i + 1}` };
    return [`d${i}`, { allOf: [next, next] }];
  });
  const $defs = { ...Object.fromEntries(definitions), d60: { type: "object" } };
  const type = await typeOf({ $defs, properties: { a: { $ref: "#/$defs/d0" } } });
  expect(type.check?.({ a: {} })).toEqual(tooMuch);
});

/** Many values, and their names. */
const listOf = <Item>(length: number, item: (i: number) => Item) => Array.from({ length }, (_, i) => item(i));
const named = (length: number, value: (i: number) => unknown, prefix = "name") =>
  Object.fromEntries(listOf(length, (i) => [`${prefix}${i}`, value(i)]));
const ones = listOf(100_000, () => 1);
const longText = "ab".repeat(100_000);

test.each<[string, object, unknown]>([
  ["alternatives in a list", { items: { allOf: listOf(190, () => ({ type: "number" })) } }, ones],
  ["keywords in a list", { items: { allOf: listOf(190, (i) => ({ minimum: -i })) } }, ones],
  ["lists in alternatives", { allOf: listOf(130, () => ({ items: { type: "number" } })) }, ones],
  ["searches of a list", { allOf: listOf(120, () => ({ contains: { minimum: 2 } })) }, [...ones, 2]],
  ["lengths of a text", { allOf: listOf(190, (i) => ({ maxLength: 300_000 + i })) }, longText],
  ["counts of names", { allOf: listOf(190, () => ({ minProperties: 1 })) }, named(20_000, () => 1)],
  ["names", { propertyNames: { allOf: listOf(190, () => ({ minLength: 1 })) } }, named(20_000, () => 1)],
  [
    "items that are compared",
    { allOf: listOf(190, () => ({ uniqueItems: true })) },
    listOf(40_000, (i) => i),
  ],
  [
    "a pattern of very many states",
    { pattern: "(a|b)*a[ab]{400}[cd]" },
    longText.replaceAll(/[ab]/g, (_, i: number) => ((i * i) % 7 < 3 ? "a" : "b")),
  ],
  ["many patterns", { allOf: listOf(30, (i) => ({ pattern: `a[ab]{${100 + i}}[cd]|b` })) }, longText],
  ["patterns of names", { patternProperties: named(40, () => ({}), "a{100}") }, named(20_000, () => 1)],
])("the work for %s is bounded", async (_, keywords, value) => {
  const type = await typeOf({ properties: { value: keywords } });
  expect(type.check?.({ value })).toEqual(tooMuch);
});

test("the work for a deep payload is bounded when three references apply to each level", async () => {
  const bases = { $defs: { one: { type: "object" }, two: { type: "object" }, three: { type: "object" } } };
  const node = {
    allOf: Object.keys(bases.$defs).map((name) => ({ $ref: `#/$defs/${name}` })),
    properties: next.properties,
  };
  const type = await typeOf({
    $defs: { ...bases.$defs, node },
    properties: { root: { $ref: "#/$defs/node" } },
  });
  let root: object = { text: "x".repeat(200_000) };
  for (let i = 0; i < 60; i++) root = { next: root };
  expect(type.check?.({ root })).toEqual([]);
});

test.each<[string, object, unknown]>([
  ["a long text with a simple pattern", { pattern: "^[^\\u0000]*$" }, longText],
  [
    "thousands of hashes",
    { items: { pattern: "^[0-9a-f]{32}$" } },
    listOf(3_000, () => "0123456789abcdef".repeat(2)),
  ],
  ["a large map", { additionalProperties: { type: "integer", minimum: 0 } }, named(15_000, (i) => i)],
  ["numbers that differ", { uniqueItems: true, items: { type: "integer" } }, listOf(35_000, (i) => i)],
  [
    "a list of one of 250 words",
    { items: { enum: listOf(250, (i) => `w${i}`) } },
    listOf(5_000, () => "w249"),
  ],
])("%s: is checked completely", async (_, keywords, value) => {
  const type = await typeOf({ properties: { value: keywords } });
  expect(type.check?.({ value })).toEqual([]);
});

test("the work for one payload does not count for the next one", async () => {
  const type = await treeOf({ allOf: [anyNext, anyNext] });
  for (let i = 0; i < 3; i++) {
    expect(type.check?.({ root: nested(60) })).toEqual(tooMuch);
    expect(type.check?.({ root: nested(10) })).toEqual([]);
  }
});

test("a tree of 5,000 nodes is checked completely, and its wrong field is named", async () => {
  const node = {
    type: "object",
    properties: { name: { type: "string" }, children: { type: "array", items: { $ref: "#/$defs/node" } } },
    additionalProperties: false,
  };
  const type = await treeOf(node);
  const leaves = () => Array.from({ length: 70 }, () => ({ name: "leaf" }));
  const root = {
    name: "root",
    children: Array.from({ length: 70 }, () => ({ name: "x", children: leaves() })),
  };
  expect(type.check?.({ root })).toEqual([]);
  const children = [...root.children, { name: "x", children: [{ name: 1 }] }];
  expect(type.check?.({ root: { ...root, children } })).toEqual([
    { in: "body", field: "data.root.children[70].children[0].name", message: "must be string" },
  ]);
});

test("a large definition with many references is not expanded each time", async () => {
  const many = (count: number, letter: string, schema: object) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`${letter}${i}`, schema]));
  const large = { type: "object", properties: many(100, "p", { type: "string" }) };
  const type = await typeOf({ $defs: { large }, properties: many(60, "a", { $ref: "#/$defs/large" }) });
  expect(type.check?.({ a59: { p99: 1 } })).toEqual([
    { in: "body", field: "data.a59.p99", message: "must be string" },
  ]);
});

/**
 * Nodes of twelve types, told apart by their `type`, each of which may have nodes as children: a document of an editor.
 */
async function documentType() {
  const names = Array.from({ length: 12 }, (_, i) => `type${i}`);
  const children = { type: "array", items: { $ref: "#/$defs/node" } };
  const nodeOf = (name: string) => ({
    type: "object",
    required: ["type"],
    properties: { type: { const: name }, text: { type: "string" }, children },
  });
  const $defs = {
    ...Object.fromEntries(names.map((name) => [name, nodeOf(name)])),
    node: { oneOf: names.map((name) => ({ $ref: `#/$defs/${name}` })) },
  };
  return typeOf({ $defs, properties: { document: { $ref: "#/$defs/node" } } });
}

interface DocumentNode {
  type: string;
  text?: string;
  children?: DocumentNode[];
}

function documentOf(depth: number, width: number, text: string): DocumentNode {
  const children = Array.from({ length: depth > 0 ? width : 0 }, () => documentOf(depth - 1, width, text));
  return { type: `type${depth}`, text, ...(depth > 0 && { children }) };
}

test("a document with nodes of many types is checked completely, and mistakes in a wrong one are named", async () => {
  const type = await documentType();
  const document = documentOf(6, 4, "a line of text");
  const size = JSON.stringify(document).length;
  expect([size > 200_000, size < 256 * 1024]).toEqual([true, true]);
  expect(type.check?.({ document })).toEqual([]);
  const wrong = documentOf(6, 4, "");
  Object.assign(wrong.children?.[0]?.children?.[0] ?? {}, { text: 1 });
  const fields = type.check?.({ document: wrong }).map(({ field }) => field);
  expect(fields).toContain("data.document.children[0].children[0].text");
});

test("a list of many small objects of one of twenty types is checked completely", async () => {
  const names = Array.from({ length: 20 }, (_, i) => `type${i}`);
  const badge = { type: "object", properties: { level: { type: "integer" } } };
  const author = { type: "object", properties: { badge: { $ref: "#/$defs/badge" } } };
  const ofType = (name: string) => [
    name,
    {
      required: ["type"],
      properties: { type: { const: name }, author: { $ref: "#/$defs/author" } },
    },
  ];
  const item = { oneOf: names.map((name) => ({ $ref: `#/$defs/${name}` })) };
  const list = { type: "array", items: { $ref: "#/$defs/item" } };
  const $defs = { ...Object.fromEntries(names.map(ofType)), badge, author, item, list };
  const type = await typeOf({ $defs, properties: { list: { $ref: "#/$defs/list" } } });
  const items = Array.from({ length: 4_400 }, (_, i) => ({
    type: `type${i % 20}`,
    author: { badge: { level: i } },
  }));
  expect(JSON.stringify(items).length).toBeGreaterThan(200_000);
  expect(type.check?.({ list: items })).toEqual([]);
  expect(
    type.check?.({ list: [...items, { type: "type3", author: { badge: { level: "x" } } }] }),
  ).toContainEqual({
    in: "body",
    field: "data.list[4400].author.badge.level",
    message: "must be integer",
  });
});

test.each<[string, object, object]>([
  [
    "forgets it",
    { anyOf: [{ maxProperties: 1 }, { patternProperties: { "^a": { type: "number" } }, required: ["b"] }] },
    { a: {} },
  ],
  ["fails", { anyOf: [{ additionalProperties: false }], patternProperties: { b: { const: 1 } } }, { b: 2 }],
])(
  "a payload is refused for its first mistake where ajv %s while it collects all",
  async (_, schema, data) => {
    const type = await typeOf({ ...schema, unevaluatedProperties: false });
    expect(type.check?.(data)).not.toEqual([]);
  },
);

test.each<[string, object, string]>([
  ["bytes", { description: "é".repeat(8_200) }, "must be at most 16384 bytes as JSON"],
  ["levels", { properties: { a: levels(40) } }, "must be at most 32 levels deep, and has 42"],
  [
    "keywords",
    { allOf: listOf(220, (i) => ({ if: { minProperties: i }, else: { required: ["b"] } })) },
    "must have at most 400 names of fields and items of lists together, and has 1322",
  ],
  [
    "schemas in a list",
    { anyOf: listOf(600, () => true) },
    "must have at most 400 names of fields and items of lists together, and has 602",
  ],
  [
    "words in lists",
    { dependentRequired: named(4, () => listOf(100, (i) => `w${i}`)) },
    "must have at most 400 names of fields and items of lists together, and has 406",
  ],
  [
    "patterns",
    { properties: named(51, (i) => ({ pattern: `^\\p{L}${i}` })) },
    "has too many patterns: at most 50 different ones",
  ],
  [
    "large patterns",
    { allOf: listOf(40, (i) => ({ pattern: `a[ab]{${200 + i}}` })) },
    "has too many large patterns: together they may have at most 5000 characters with repetitions written out",
  ],
])("a schema with too many %s is refused with the limit", async (_, schema, message) => {
  await expect(typeOf(schema)).rejects.toMatchObject({
    details: { errors: [{ in: "body", field: "schema", message }] },
  });
});

test("a pattern that occurs often counts once", async () => {
  const type = await typeOf({ properties: named(120, () => ({ pattern: "^[a-z]{400}$" })) });
  expect(type.check?.({ name119: "a" })).toEqual([
    { in: "body", field: "data.name119", message: 'must match pattern "^[a-z]{400}$"' },
  ]);
});

test("a name of a property may match a pattern of names, which no backtracking engine tries on it", async () => {
  const type = await typeOf({
    properties: { [`${"a".repeat(26)}!`]: {}, aa: { type: "number" } },
    patternProperties: { "^(a+)+$": { maximum: 1 } },
  });
  expect(type.check?.({ aa: 1 })).toEqual([]);
  expect(type.check?.({ aa: 2 })).toEqual([{ in: "body", field: "data.aa", message: "must be <= 1" }]);
});

function levels(depth: number): object {
  return depth === 1 ? {} : { not: levels(depth - 1) };
}
