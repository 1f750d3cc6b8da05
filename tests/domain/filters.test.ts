import { describe, expect, test } from "bun:test";
import { Catalogue, eventTypeOf } from "../../src/domain/events/catalogue.ts";
import {
  changedFilters,
  type FilterChanges,
  filterLimits,
  filterOf,
  filterProblems,
  shownFilters,
  storedCondition,
} from "../../src/domain/filters.ts";

const raffle = (version: number, properties: Record<string, unknown>) =>
  eventTypeOf({
    name: "raffle.won",
    version,
    description: "A raffle.",
    schema: { type: "object", additionalProperties: false, properties },
    example: {},
    time_to_live_seconds: null,
  });
const catalogue = new Catalogue();
catalogue.put(await raffle(1, { winner: { type: "string" } }));
catalogue.put(await raffle(2, { winner: { type: "string" }, tickets: { type: "integer" } }));

const problemsOf = (changes: FilterChanges) =>
  filterProblems(changes, catalogue).map(({ field, message }) => `${field} ${message}`);

describe("the key of a filter", () => {
  test.each(["chat.message.sent", "chat.message.sent@1", "raffle.won", "raffle.won@2"])(
    "may be %s",
    (key) => {
      expect(problemsOf({ [key]: { $exist: true } })).toEqual([]);
    },
  );
  test.each([
    "chat.message",
    "chat.message.sent@2",
    "chat.message.sent@01",
    "chat.message.sent@1@1",
    "raffle.won@",
    "",
    "__proto__",
  ])("may not be %j", (key) => {
    const [problem] = problemsOf(Object.fromEntries([[key, { $exist: true }]]));
    expect(problem).toStartWith(`filters[${JSON.stringify(key)}] is not a known event type`);
  });
});

test("the fields of a filter are those of its version, or of any version if it names none", () => {
  const condition = { tickets: { $gte: 10 } };
  expect(problemsOf({ "raffle.won": condition, "raffle.won@2": condition })).toEqual([]);
  expect(problemsOf({ "raffle.won@1": condition })).toEqual([
    'filters["raffle.won@1"].tickets is not a field of raffle.won@1 here; there is winner',
  ]);
});

test("problems of all filters are reported, each with its place", () => {
  const changes = {
    "chat.message.sent": { content: { $startWith: "!" } },
    "channel.followed": { x: 1 },
    "raffle.won": null,
  };
  expect(filterProblems(changes, catalogue).map(({ field }) => field)).toEqual([
    'filters["chat.message.sent"].content.$startWith',
    'filters["channel.followed"].x',
  ]);
});

test("changes set, replace and remove filters, and keep the others; one that stays the same keeps its time", () => {
  const [bang, vip] = [{ content: { $startsWith: "!" } }, { content: "x" }];
  const first = changedFilters({}, { "chat.message.sent": bang, "raffle.won": vip }, 1);
  expect(first).toEqual({
    "chat.message.sent": { condition: bang, set_at: 1 },
    "raffle.won": { condition: vip, set_at: 1 },
  });
  const second = changedFilters(
    first,
    { "chat.message.sent": bang, "raffle.won": null, "raffle.won@1": vip },
    2,
  );
  expect(second).toEqual({
    "chat.message.sent": { condition: bang, set_at: 1 },
    "raffle.won@1": { condition: vip, set_at: 2 },
  });
  expect(shownFilters(second)).toEqual({ "chat.message.sent": bang, "raffle.won@1": vip });
  expect(changedFilters(second, null, 3)).toEqual({});
});

test("an application has at most 20 filters", () => {
  const many = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`raffle.won@${i + 1}`, { winner: "x" }]));
  const full = changedFilters({}, many(filterLimits.count), 1);
  expect(Object.keys(full)).toHaveLength(20);
  expect(() => changedFilters(full, { "chat.message.sent": { content: "x" } }, 2)).toThrow(
    "filters may be at most 20",
  );
  expect(
    Object.keys(changedFilters(full, { "raffle.won@1": null, "chat.message.sent": { content: "x" } }, 2)),
  ).toHaveLength(20);
});

test("the filter of a version comes before that of its name, and types without a filter have none", () => {
  const filters = changedFilters({}, { "raffle.won": { winner: "a" }, "raffle.won@2": { winner: "b" } }, 1);
  const winner = (version: number) => filterOf(filters, "raffle.won", version)?.condition["winner"];
  expect([winner(1), winner(2)]).toEqual(["a", "b"]);
  expect(filterOf(filters, "chat.message.sent", 1)).toBeNull();
  expect(filterOf({}, "constructor", 1)).toBeNull();
});

test("a stored filter is applied; all events match one that cannot be read", () => {
  const stored = (condition: Record<string, unknown>) =>
    storedCondition({ key: "raffle.won", condition, set_at: 1 });
  expect(stored({ winner: { $startsWith: "m" } }).matches({ winner: "maya" })).toBe(true);
  expect(stored({ winner: { $startsWith: "m" } }).matches({ winner: "anna" })).toBe(false);
  expect(stored({ winner: { $later: 1 } }).matches({ winner: "anna" })).toBe(true);
});
