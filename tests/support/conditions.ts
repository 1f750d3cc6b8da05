import * as fc from "fast-check";
import { type Arbitrary, letrec } from "fast-check";

/*
 * Random conditions and payloads, and a slow reading of the rules of docs/filters.md to compare with.
 */

const names = ["a", "b"] as const;
const primitive = fc.constantFrom<string | number | boolean | null>("x", "xy", "!x", 0, 1, true, null);
const text = fc.constantFrom("x", "y", "!");
const number = fc.constantFrom(0, 1, 1.5);

const { object } = letrec((tie) => ({
  operator: fc.oneof(
    fc.tuple(fc.constantFrom("$eq", "$neq"), primitive),
    fc.tuple(fc.constantFrom("$in", "$nin"), fc.array(primitive, { minLength: 1, maxLength: 3 })),
    fc.tuple(fc.constantFrom("$gt", "$gte", "$lt", "$lte"), number),
    fc.tuple(fc.constantFrom("$startsWith", "$endsWith", "$contains"), text),
    fc.tuple(fc.constant("$regex"), fc.constantFrom("^x", "y$", "x.", "^$", "[!y]")),
    fc.tuple(fc.constant("$exist"), fc.boolean()),
    fc.tuple(fc.constantFrom("$and", "$or"), fc.array(tie("condition"), { minLength: 1, maxLength: 2 })),
    fc.tuple(fc.constant("$not"), tie("condition")),
  ),
  field: fc.tuple(fc.constantFrom(...names), tie("condition")),
  object: fc
    .array(fc.oneof({ maxDepth: 4 }, tie("field"), tie("operator")), { minLength: 1, maxLength: 2 })
    .map((entries) => Object.fromEntries(entries as [string, unknown][])),
  condition: fc.oneof({ maxDepth: 4, withCrossShrink: true }, primitive, tie("object")),
}));

/** Conditions of all operators, for payloads of `arbitraryPayload`. */
export const arbitraryCondition = object as Arbitrary<Record<string, unknown>>;

const { payload } = letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    { weight: 2, arbitrary: primitive },
    { weight: 1, arbitrary: tie("payload") },
    { weight: 3, arbitrary: fc.array(tie("value"), { minLength: 1, maxLength: 3 }) },
  ),
  payload: fc.dictionary(fc.constantFrom(...names), tie("value"), { minKeys: 1, maxKeys: 2 }),
}));

/** Payloads with few names and values, so that conditions often hold. */
export const arbitraryPayload = payload as Arbitrary<Record<string, unknown>>;

type Json = Record<string, unknown>;

/**
 * Whether a payload meets a condition, by a literal reading of the rules: the parts of an object that concern items are
 * tried with each single value that a list contains, at any depth.
 */
export function slowlyMatches(condition: unknown, given: unknown): boolean {
  const value = given ?? null;
  const isObject = typeof condition === "object" && condition !== null;
  const parts = Object.entries(isObject ? (condition as Json) : { $eq: condition });
  const isOfList = ([name]: [string, unknown]) =>
    ["$and", "$or", "$not", "$exist", "$neq", "$nin"].includes(name);
  const ofList = parts.filter(isOfList);
  const ofItem = parts.filter((part) => !isOfList(part));
  return (
    ofList.every(([name, operand]) => listMeets(name, operand, value)) &&
    (ofItem.length === 0 ||
      single(value).some((one) => ofItem.every(([name, operand]) => itemMeets(name, operand, one))))
  );
}

/** The values that a condition on a value can be about: the value, or all that a list contains. */
const single = (value: unknown): unknown[] =>
  Array.isArray(value) ? value.flat(Number.POSITIVE_INFINITY) : [value];

function listMeets(name: string, operand: unknown, value: unknown): boolean {
  const all = operand as unknown[];
  if (name === "$and") return all.filter((one) => slowlyMatches(one, value)).length === all.length;
  if (name === "$or") return all.filter((one) => slowlyMatches(one, value)).length > 0;
  if (name === "$not") return !slowlyMatches(operand, value);
  if (name === "$exist") return operand === (value !== null);
  const unwanted = name === "$neq" ? [operand] : all;
  return !single(value).some((one) => unwanted.includes(one));
}

function itemMeets(name: string, operand: unknown, value: unknown): boolean {
  if (!name.startsWith("$")) {
    const isObject = typeof value === "object" && value !== null;
    return slowlyMatches(operand, isObject && name in value ? (value as Json)[name] : null);
  }
  if (name === "$eq") return value === operand;
  if (name === "$in") return (operand as unknown[]).includes(value);
  if (typeof value === "number" && typeof operand === "number") {
    const order = Math.sign(value - operand);
    return { $gt: order === 1, $gte: order !== -1, $lt: order === -1, $lte: order !== 1 }[name] ?? false;
  }
  if (typeof value !== "string" || typeof operand !== "string") return false;
  const at = value.indexOf(operand);
  if (name === "$startsWith") return at === 0;
  if (name === "$endsWith") return value.slice(-operand.length) === operand;
  if (name === "$contains") return at !== -1;
  return name === "$regex" && new RegExp(operand).test(value);
}
