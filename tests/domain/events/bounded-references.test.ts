import { expect, test } from "bun:test";
import type { FieldProblem } from "../../../src/domain/errors.ts";
import { eventTypeOf } from "../../../src/domain/events/registered.ts";

/*
 * Each of these checks would take longer than a test run, or all memory, without its bound: no test measures a time.
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
const tooOften: FieldProblem[] = [
  {
    in: "body",
    field: "data",
    message: "cannot be checked, because the schema of tree.grown refers to itself without end or too often",
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
])("a node that refers to itself in two branches of %s gives up a deep payload", async (_, node) => {
  expect((await treeOf(node)).check?.({ root: nested(60) })).toEqual(tooOften);
});

test("a dynamic reference counts, too", async () => {
  const dynamic = { properties: { next: { $dynamicRef: "#node" } } };
  const type = await typeOf({ $dynamicAnchor: "node", allOf: [dynamic, dynamic] });
  expect(type.check?.(nested(60))).toEqual(tooOften);
});

test("a schema each of whose definitions has the next one twice gives up any payload", async () => {
  const definitions = Array.from({ length: 60 }, (_, i) => {
    const next = { $ref: `#/$defs/d${i + 1}` };
    return [`d${i}`, { allOf: [next, next] }];
  });
  const $defs = { ...Object.fromEntries(definitions), d60: { type: "object" } };
  const type = await typeOf({ $defs, properties: { a: { $ref: "#/$defs/d0" } } });
  expect(type.check?.({ a: {} })).toEqual(tooOften);
});

test("what a payload was refused for does not count for the next one", async () => {
  const type = await treeOf({ allOf: [anyNext, anyNext] });
  for (let i = 0; i < 3; i++) {
    expect(type.check?.({ root: nested(60) })).toEqual(tooOften);
    expect(type.check?.({ root: nested(10) })).toEqual([]);
  }
});

test("a tree of 5,000 nodes is checked whole, and its wrong field is named", async () => {
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

test("a large definition that is referred to often is not written out each time", async () => {
  const many = (count: number, letter: string, schema: object) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`${letter}${i}`, schema]));
  const large = { type: "object", properties: many(1_000, "p", { type: "string" }) };
  const type = await typeOf({ $defs: { large }, properties: many(700, "a", { $ref: "#/$defs/large" }) });
  expect(type.check?.({ a699: { p999: 1 } })).toEqual([
    { in: "body", field: "data.a699.p999", message: "must be string" },
  ]);
});

/** Nodes of twelve types, told apart by their `type`, each of which may have nodes as children: a document of an editor. */
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

test("a document of nodes of many types is checked whole, and of one that is wrong mistakes are named", async () => {
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

test("a list of many small objects of one of twenty types is checked whole", async () => {
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
