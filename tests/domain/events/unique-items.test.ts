import { expect, test } from "bun:test";
import type { FieldProblem } from "../../../src/domain/errors.ts";
import { eventTypeOf } from "../../../src/domain/events/registered.ts";
import { second } from "../../../src/domain/time.ts";

/** The problems of a list whose schema has these keywords. */
async function problemsOf(items: readonly unknown[], keywords: object = { uniqueItems: true }) {
  const type = await eventTypeOf({
    name: "raffle.drawn",
    version: 1,
    description: "",
    schema: { type: "object", properties: { list: { type: "array", ...keywords } } },
    example: {},
    time_to_live_seconds: null,
  });
  return type.check?.({ list: items });
}

const repeated = (first: number, second: number): FieldProblem[] => [
  {
    in: "body",
    field: "data.list",
    message: `must NOT have duplicate items (items ## ${first} and ${second} are identical)`,
  },
];

test.each<[string, unknown[], FieldProblem[]]>([
  ["none", [], []],
  ["one", [1], []],
  ["numbers that differ", [1, 2, 3], []],
  ["a number and its text", [1, "1", null, "null", true, "true", [1], ["1"]], []],
  ["a number twice", [1, 2, 1.0], repeated(0, 2)],
  ["zero with either sign", [0, -0], repeated(0, 1)],
  [
    "objects with the same fields in another order",
    [
      { a: 1, b: { c: 2, d: 3 } },
      { b: { d: 3, c: 2 }, a: 1 },
    ],
    repeated(0, 1),
  ],
  ["objects that differ deep within", [{ a: { b: [1, { c: 2 }] } }, { a: { b: [1, { c: 3 }] } }], []],
  [
    "fields whose concatenated names and values are equal",
    [
      { "a,b": 1, a: 2 },
      { a: "b,1", "a,2": 1 },
    ],
    [],
  ],
  [
    "lists in another order",
    [
      [1, 2],
      [2, 1],
    ],
    [],
  ],
  ["several repetitions: the last one", ["x", "y", "x", "y", "z"], repeated(1, 3)],
])("uniqueItems compares items by value: %s", async (_, items, found) => {
  expect(await problemsOf(items)).toEqual(found);
  expect(await problemsOf(items, { uniqueItems: false })).toEqual([]);
});

test("the work for each item does not grow with the length of the list", async () => {
  const items = Array.from({ length: 32_000 }, (_, i) => [i]);
  const startedAt = performance.now();
  expect(await problemsOf(items)).toEqual([]);
  // Comparing all pairs would be 500 million comparisons.
  expect(performance.now() - startedAt).toBeLessThan(5 * second);
});
