import type { components } from "../../client/api.d.ts";
import { nameInField } from "../../domain/errors.ts";
import { Shape } from "../../domain/events/shape.ts";

/** A condition as JSON; docs/filters.md describes its form. */
export type ConditionJson = Readonly<Record<string, unknown>>;

/** An event type that filters can be about, as either API has it. */
interface FilteredType {
  readonly name: string;
  readonly version: number;
  readonly schema: object;
  readonly example: ConditionJson;
}

export type FilterTest = components["schemas"]["FilterTest"];

/** What to test, and with which payloads; by default those of the last deliveries. */
type TestInput = components["schemas"]["FilterTestInput"];

/** The filters of an application, for the pages that the portal and the console share. */
export interface FilterSource {
  readonly filters: Readonly<Record<string, ConditionJson>>;
  /** The times since which they are in force. */
  readonly setAt: Readonly<Record<string, string>>;
  readonly types: readonly FilteredType[];
  /** Whether the user may change them. */
  readonly canChange: boolean;
  /** Sets the filter of a type; null removes it. */
  change(type: string, filter: ConditionJson | null): Promise<unknown>;
  test(input: TestInput, signal: AbortSignal): Promise<FilterTest>;
}

/** Returns the types that a filter is about: all versions of a name, or one, such as `chat.message.sent@1`. */
export function typesOf(key: string, types: readonly FilteredType[]): readonly FilteredType[] {
  return types.filter(({ name, version }) => key === name || key === `${name}@${version}`);
}

/** Returns the types for which a filter can be set: names, and the versions of those that have several. */
export function keysOf(types: readonly FilteredType[]): readonly string[] {
  const names = [...new Set(types.map(({ name }) => name))];
  return names.flatMap((name) => {
    const versions = types.filter((type) => type.name === name);
    return [name, ...(versions.length > 1 ? versions.map(({ version }) => `${name}@${version}`) : [])];
  });
}

/*
 * The simple filters that a form can show: conditions on fields, of which all or one must hold. Other filters are
 * edited as JSON.
 */

/** A field of an event's data. */
export interface FilterField {
  readonly path: readonly string[];
  readonly kind: "text" | "number" | "boolean" | "object" | "any";
  /** The only possible values; null when there are others. */
  readonly values: readonly unknown[] | null;
}

/** A condition on a field. The value is as it was typed. */
export interface Line {
  readonly path: readonly string[];
  readonly condition: ConditionName;
  readonly value: string;
}

export interface FilterForm {
  readonly join: "all" | "any";
  readonly lines: readonly Line[];
}

const maxDepth = 8;
const maxFields = 300;
const maxLines = 20;

/** Returns the fields that payloads of these schemas may have, those at the top first. */
export function fieldsOf(schemas: readonly object[]): readonly FilterField[] {
  const found: FilterField[] = [];
  const visit = (shape: Shape, path: readonly string[]) => {
    for (const name of shape.fields) {
      const inner = name.startsWith("$") ? null : shape.field(name);
      if (!inner || found.length >= maxFields) continue;
      const here = [...path, name];
      const values = inner.values && [...inner.values].filter((value) => value !== null);
      found.push({ path: here, kind: kindOf(inner), values });
      if (here.length < maxDepth) visit(inner, here);
    }
  };
  visit(Shape.of(schemas as ConditionJson[]), []);
  return found.toSorted((one, other) => one.path.length - other.path.length);
}

const kinds = { string: "text", number: "number", boolean: "boolean", object: "object" } as const;

function kindOf(shape: Shape): FilterField["kind"] {
  const possible = [...(shape.kinds ?? [])].filter((kind) => kind !== "null");
  const [only] = possible;
  return only && possible.length === 1 ? kinds[only] : "any";
}

/** The conditions of the form, with the kinds of field that they are for. */
const conditions = {
  $eq: { words: "is", kinds: ["text", "number", "boolean", "any"] },
  $neq: { words: "is not", kinds: ["text", "number", "boolean", "any"] },
  $startsWith: { words: "begins with", kinds: ["text", "any"] },
  $endsWith: { words: "ends with", kinds: ["text", "any"] },
  $contains: { words: "contains", kinds: ["text", "any"] },
  $regex: { words: "matches the pattern", kinds: ["text", "any"] },
  $in: { words: "is one of", kinds: ["text", "number", "any"] },
  $nin: { words: "is none of", kinds: ["text", "number", "any"] },
  $gt: { words: "is greater than", kinds: ["number", "any"] },
  $gte: { words: "is at least", kinds: ["number", "any"] },
  $lt: { words: "is less than", kinds: ["number", "any"] },
  $lte: { words: "is at most", kinds: ["number", "any"] },
  exists: { words: "has a value", kinds: ["text", "number", "boolean", "object", "any"] },
  absent: { words: "has no value", kinds: ["text", "number", "boolean", "object", "any"] },
} as const;

type ConditionName = keyof typeof conditions;
const names = Object.keys(conditions) as ConditionName[];

/** Returns the conditions on a kind of field, with their words. */
export function conditionsFor(kind: FilterField["kind"]): readonly (readonly [ConditionName, string])[] {
  return names
    .filter((name) => (conditions[name].kinds as readonly string[]).includes(kind))
    .map((name) => [name, conditions[name].words]);
}

/** Whether a condition compares with a value. */
export const hasValue = (condition: ConditionName) => condition !== "exists" && condition !== "absent";
/** Whether a condition compares with a list of values, which are separated by commas. */
export const hasList = (condition: ConditionName) => condition === "$in" || condition === "$nin";
const numeric: readonly ConditionName[] = ["$gt", "$gte", "$lt", "$lte"];

/** Returns the kind of the value that a condition on a field compares with. */
export function valueKind(condition: ConditionName, field: FilterField | undefined): FilterField["kind"] {
  if (numeric.includes(condition)) return "number";
  const isOfAny = condition === "$eq" || condition === "$neq" || hasList(condition);
  return isOfAny ? (field?.kind ?? "text") : "text";
}

const sameAs = (path: readonly string[]) => (other: { readonly path: readonly string[] }) =>
  JSON.stringify(other.path) === JSON.stringify(path);

/** Returns the field of a line. */
export function fieldAt(path: readonly string[], fields: readonly FilterField[]): FilterField | undefined {
  return fields.find(sameAs(path));
}

/** Returns a line for a new filter or condition: about a text that people write, if the type has one. */
export function newLine(fields: readonly FilterField[]): Line {
  const isText = ({ kind, path }: FilterField) => kind === "text" && !/(^|_)(id|at)$/.test(path.at(-1) ?? "");
  const field = fields.find(isText) ?? fields[0];
  const [[condition] = ["exists" as const]] = conditionsFor(field?.kind ?? "any");
  return { path: field?.path ?? [], condition, value: "" };
}

/** Returns a line about another field, with its condition and value if they fit. */
export function lineAt(line: Line, path: readonly string[], fields: readonly FilterField[]): Line {
  const [before, after] = [fieldAt(line.path, fields), fieldAt(path, fields)];
  const possible = conditionsFor(after?.kind ?? "any").map(([name]) => name);
  const condition = possible.includes(line.condition) ? line.condition : (possible[0] ?? "exists");
  const isKept = before?.kind === after?.kind && after?.values === null;
  return { path, condition, value: isKept ? line.value : "" };
}

function operandOf({ condition, value, path }: Line, fields: readonly FilterField[]): unknown {
  if (!hasValue(condition)) return condition === "exists";
  const kind = valueKind(condition, fieldAt(path, fields));
  const read = (text: string) => {
    if (kind === "number" && text.trim() !== "" && !Number.isNaN(Number(text))) return Number(text);
    if (kind === "boolean" && (text === "true" || text === "false")) return text === "true";
    return text;
  };
  if (!hasList(condition)) return read(value);
  const items = value.split(",").map((item) => item.trim());
  return items.filter((item) => item !== "").map(read);
}

const operatorOf = (condition: ConditionName) => (hasValue(condition) ? condition : "$exist");

type Tree = { [name: string]: unknown };

/** Puts a line into the object at its path. Returns whether there was no condition of this kind yet. */
function put(tree: Tree, line: Line, fields: readonly FilterField[]): boolean {
  let here = tree;
  for (const name of line.path) {
    if (!Object.hasOwn(here, name)) define(here, name, {});
    here = here[name] as Tree;
  }
  const operator = operatorOf(line.condition);
  if (Object.hasOwn(here, operator)) return false;
  here[operator] = operandOf(line, fields);
  return true;
}

/** Sets a property, also one whose name is that of a setter. */
function define(tree: Tree, name: string, value: unknown): void {
  Object.defineProperty(tree, name, { value, enumerable: true, configurable: true, writable: true });
}

/** Writes `{"$eq": value}` as the value alone. */
function short(tree: Tree): Tree {
  const made: Tree = {};
  for (const [name, inner] of Object.entries(tree)) {
    const isField = !name.startsWith("$");
    const shortened = isField ? short(inner as Tree) : inner;
    const isEqual = isField && Object.keys(inner as Tree).join() === "$eq";
    define(made, name, isEqual ? (inner as Tree)["$eq"] : shortened);
  }
  return made;
}

/** The condition of a form, and the place of each line's condition in it, as in problems of the API. */
interface Written {
  readonly condition: ConditionJson;
  readonly places: readonly string[];
}

/** Returns the condition that a form stands for. */
export function written({ join, lines }: FilterForm, fields: readonly FilterField[]): Written {
  const inner = (line: Line) => [...line.path.map(nameInField), operatorOf(line.condition)].join(".");
  const merged: Tree = {};
  const areApart = lines.map((line) => put(merged, line, fields)).every(Boolean);
  if (lines.length === 1 || (join === "all" && areApart))
    return { condition: short(merged), places: lines.map(inner) };
  const operator = join === "any" ? "$or" : "$and";
  const each = lines.map((line) => {
    const tree: Tree = {};
    put(tree, line, fields);
    return short(tree);
  });
  return {
    condition: { [operator]: each },
    places: lines.map((line, i) => `${operator}[${i}].${inner(line)}`),
  };
}

/** Returns the form that stands for a condition; null when it is too complex for one. */
export function formOf(source: unknown, fields: readonly FilterField[]): FilterForm | null {
  const condition = unwrapped(source);
  if (condition === null) return null;
  const [[operator = "", list] = []] = Object.entries(condition);
  const isList = Object.keys(condition).length === 1 && Array.isArray(list);
  const parts = isList && (operator === "$or" || operator === "$and") ? list : [condition];
  const read = parts.map((part) => linesOf(part, [], fields));
  const lines = read.flatMap((some) => some ?? []);
  if (read.includes(null) || lines.length === 0 || lines.length > maxLines) return null;
  const form: FilterForm = { join: operator === "$or" ? "any" : "all", lines };
  return isSameCondition(written(form, fields).condition, condition) ? form : null;
}

/** Whether two conditions differ only in the order of their parts, and in how they are written. */
export function isSameCondition(one: unknown, other: unknown): boolean {
  return JSON.stringify(canonical(unwrapped(one))) === JSON.stringify(canonical(unwrapped(other)));
}

const isObject = (value: unknown): value is ConditionJson =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns a condition without `$and` and `$or` of a single one at its top; null when it is not an object. */
function unwrapped(source: unknown): ConditionJson | null {
  let condition = source;
  while (isObject(condition)) {
    const [[name, list] = []] = Object.entries(condition);
    const isSingle = Object.keys(condition).length === 1 && Array.isArray(list) && list.length === 1;
    if (!isSingle || (name !== "$and" && name !== "$or")) return condition;
    [condition] = list;
  }
  return null;
}

/** Sorts the parts of objects, and writes values alone as `$eq`. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (!isObject(value)) return value;
  const parts = Object.entries(value).map(([name, inner]) => {
    const isAlone = !name.startsWith("$") && !isObject(inner) && !Array.isArray(inner);
    return [name, isAlone ? [["$eq", inner]] : canonical(inner)] as const;
  });
  return parts.toSorted(([one], [other]) => (one < other ? -1 : 1));
}

/** Returns the lines of an object; null when one of its parts cannot be a line. */
function linesOf(
  condition: unknown,
  path: readonly string[],
  fields: readonly FilterField[],
): readonly Line[] | null {
  if (!isObject(condition) || path.length > maxDepth) return null;
  const found: Line[] = [];
  for (const [name, inner] of Object.entries(condition)) {
    const isOperator = name.startsWith("$");
    const isValue = !isObject(inner);
    const lines =
      isOperator || isValue
        ? lineOf(isOperator ? name : "$eq", inner, isOperator ? path : [...path, name], fields)
        : linesOf(inner, [...path, name], fields);
    if (lines === null) return null;
    found.push(...lines);
  }
  return found;
}

function lineOf(
  operator: string,
  operand: unknown,
  path: readonly string[],
  fields: readonly FilterField[],
): readonly Line[] | null {
  const field = fieldAt(path, fields);
  const wanted = operator === "$exist" ? (operand === true ? "exists" : "absent") : operator;
  const condition = conditionsFor(field?.kind ?? "any").find(([name]) => name === wanted)?.[0];
  if (!field || !condition) return null;
  if (!hasValue(condition)) return [{ path, condition, value: "" }];
  return [{ path, condition, value: Array.isArray(operand) ? operand.join(", ") : String(operand) }];
}

/** A value as JSON, in which characters that change the direction of the text around them are escaped. */
export function quoted(value: unknown): string {
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16)}`;
  return (JSON.stringify(value) ?? "").replace(/[\u202a-\u202e\u2066-\u2069]/g, escaped);
}

/** Describes a condition in a line: in words, or as JSON. */
export function inWords(condition: ConditionJson, fields: readonly FilterField[]): string {
  const form = formOf(condition, fields);
  if (form === null) return quoted(condition);
  const said = form.lines.map((line) => {
    const { words } = conditions[line.condition];
    const operand = operandOf(line, fields);
    const value = Array.isArray(operand) ? operand.map(quoted).join(", ") : quoted(operand);
    return [line.path.join("."), words, hasValue(line.condition) && value].filter(Boolean).join(" ");
  });
  return said.join(form.join === "any" ? " or " : " and ");
}

/** Returns the paths of the fields that a condition is about. */
export function pathsOf(condition: unknown, path: readonly string[] = []): readonly (readonly string[])[] {
  if (Array.isArray(condition)) return distinct(condition.flatMap((item) => pathsOf(item, path)));
  if (!isObject(condition)) return path.length > 0 ? [path] : [];
  const found = Object.entries(condition).flatMap(([name, inner]) => {
    if (!name.startsWith("$")) return pathsOf(inner, [...path, name]);
    const isLogical = name === "$and" || name === "$or" || name === "$not";
    return isLogical ? pathsOf(inner, path) : pathsOf(null, path);
  });
  return distinct(found);
}

const distinct = (paths: readonly (readonly string[])[]) =>
  paths.filter((path, i) => paths.findIndex((other) => String(other) === String(path)) === i);

/** Returns the values at a path; those of all items of lists. */
export function valuesAt(data: unknown, [name, ...rest]: readonly string[]): readonly unknown[] {
  if (Array.isArray(data))
    return data.flatMap((item) => valuesAt(item, name === undefined ? [] : [name, ...rest]));
  if (name === undefined) return [data];
  return isObject(data) && Object.hasOwn(data, name) ? valuesAt(data[name], rest) : [];
}
