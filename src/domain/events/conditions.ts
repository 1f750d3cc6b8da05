import { type FieldProblem, messageOf, nameInField } from "../errors.ts";
import { maxProblems } from "../validation/problems.ts";
import type { Pattern } from "./patterns.ts";
import { type Kind, kindOf, Shape } from "./shape.ts";

/*
 * Conditions on payloads, in the form of Hookdeck's filters (https://hookdeck.com/docs/filters): an object that has the
 * structure of the payload, with values to compare with and operators, which begin with `$`. `docs/filters.md` is the
 * reference.
 *
 * - All parts of an object must hold.
 * - A part that concerns a list must hold for one of its items; all parts of one object for the same item.
 *   `$and`, `$or`, `$not`, `$exist`, and the negations `$neq` and `$nin` concern the list as a whole.
 * - An absent value is the same as null.
 */

/** Limits of one condition. */
export const conditionLimits = {
  /** As JSON. */
  bytes: 4 * 1024,
  /** Objects and lists inside one another. */
  depth: 16,
  /** Fields and operators. */
  parts: 100,
  /** The sizes of all patterns together, so that a text of 500 characters can always be matched with all of them. */
  patternSizes: 300,
} as const;

/** The steps that one evaluation may take. They bound the time that an event takes in the thread that stores events. */
const mostSteps = 20_000;
/** Characters of a text times the size of a pattern that count as one step. */
const patternPartsOfStep = 8;
/** Characters that are compared with one another in one step. */
const charactersOfStep = 256;

/** A condition that was checked. */
export interface Condition {
  /**
   * Whether a payload meets the condition. Takes time in proportion to the size of the condition times that of the
   * payload. True also when that would be more than a bounded amount of work.
   */
  matches(data: unknown): boolean;
}

/** What a condition is checked against. */
interface Subject {
  readonly shape: Shape;
  /** The name of the event type, for messages. */
  readonly type: string;
}

/**
 * Reads a condition.
 *
 * @param field the name of the condition in problems
 * @param subject the payloads that it is about; without a subject, its fields and types are not checked
 * @returns the condition, or its problems, at most 20
 */
export function readCondition(
  source: unknown,
  field: string,
  subject: Subject = { shape: Shape.any, type: "the event" },
): { readonly condition: Condition } | { readonly problems: readonly FieldProblem[] } {
  const reader = new Reader(subject.type);
  const bytes = Buffer.byteLength(JSON.stringify(source) ?? "");
  if (bytes > conditionLimits.bytes) {
    reader.refuse(field, `must be at most ${conditionLimits.bytes} bytes as JSON, and has ${bytes}`);
    return { problems: reader.problems };
  }
  const place = { field, depth: 1, shape: subject.shape };
  if (!isObject(source)) reader.refuse(field, 'must be an object, such as {"content": {"$startsWith": "!"}}');
  const test = isObject(source) ? reader.object(source, place) : never;
  if (reader.problems.length > 0) return { problems: reader.problems };
  return { condition: { matches: (data) => decided(test, data) } };
}

type Test = (value: unknown, work: Work) => boolean;

/** Used in place of a part that was refused. */
const never: Test = () => false;

/** The steps that are left for one evaluation. */
class Work {
  #left = mostSteps;

  /** Takes steps. Throws `tooMuch` when none are left. */
  take(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw tooMuch;
  }
}
const tooMuch = new Error("The condition takes too many steps");

function decided(test: Test, data: unknown): boolean {
  try {
    return test(data, new Work());
  } catch (error) {
    if (error !== tooMuch) throw error;
    return true;
  }
}

function holdAll(tests: readonly Test[], value: unknown, work: Work): boolean {
  for (const test of tests) if (!test(value, work)) return false;
  return true;
}

/** Holds when all tests hold for the value; for a list, when they hold for one of its items. */
function holdsForOne(tests: readonly Test[], value: unknown, work: Work): boolean {
  if (!Array.isArray(value)) return holdAll(tests, value, work);
  for (const item of value) {
    work.take(1);
    if (holdsForOne(tests, item, work)) return true;
  }
  return false;
}

interface Place {
  readonly field: string;
  readonly depth: number;
  readonly shape: Shape;
}

type Json = Readonly<Record<string, unknown>>;
type Primitive = string | number | boolean | null;

/** An operator: the type of value that it can hold for, and its test. */
interface Operator {
  /** null for any type. */
  readonly kind: Kind | null;
  /** Whether it concerns a list as a whole. */
  readonly isOfWhole?: true;
  /** Returns the test, or null when the operand was refused. */
  readonly read: (reader: Reader, operand: unknown, place: Place) => Test | null;
}

const comparison = (holds: (value: number, operand: number) => boolean): Operator => ({
  kind: "number",
  read(reader, operand, { field }) {
    if (typeof operand !== "number") return reader.refuse(field, "must be a number");
    return (value) => typeof value === "number" && holds(value, operand);
  },
});

const textual = (holds: (value: string, operand: string, work: Work) => boolean): Operator => ({
  kind: "string",
  read(reader, operand, { field }) {
    if (typeof operand !== "string" || operand === "")
      return reader.refuse(field, "must be a text that is not empty");
    return (value, work) => typeof value === "string" && holds(value, operand, work);
  },
});

const logical = (holds: (tests: readonly Test[], value: unknown, work: Work) => boolean): Operator => ({
  kind: null,
  isOfWhole: true,
  read(reader, operand, place) {
    if (!Array.isArray(operand) || operand.length === 0)
      return reader.refuse(place.field, "must be a list of conditions, which is not empty");
    const tests = operand.map((condition, i) =>
      reader.condition(condition, { ...place, field: `${place.field}[${i}]`, depth: place.depth + 2 }),
    );
    return (value, work) => holds(tests, value, work);
  },
});

/** Makes an operator whose test is the opposite, also for a list. */
const negated = ({ kind, read }: Operator): Operator => ({
  kind,
  isOfWhole: true,
  read(reader, operand, place) {
    const test = read(reader, operand, place);
    return test && ((value, work) => !holdsForOne([test], value, work));
  },
});

const equal: Operator = {
  kind: null,
  read: (reader, operand, place) =>
    reader.isComparable(operand, place) ? (value) => value === operand : null,
};

const among: Operator = {
  kind: null,
  read(reader, operand, place) {
    if (!Array.isArray(operand) || operand.length === 0)
      return reader.refuse(place.field, "must be a list of values, which is not empty");
    operand.forEach((value, i) => {
      reader.isComparable(value, { ...place, field: `${place.field}[${i}]` });
    });
    const values = new Set<unknown>(operand);
    return (value) => values.has(value);
  },
};

const operators: Readonly<Record<string, Operator>> = {
  $eq: equal,
  $neq: negated(equal),
  $in: among,
  $nin: negated(among),
  $gt: comparison((value, operand) => value > operand),
  $gte: comparison((value, operand) => value >= operand),
  $lt: comparison((value, operand) => value < operand),
  $lte: comparison((value, operand) => value <= operand),
  $startsWith: textual((value, operand) => value.startsWith(operand)),
  $endsWith: textual((value, operand) => value.endsWith(operand)),
  $contains: textual((value, operand, work) => {
    work.take((value.length * operand.length) / charactersOfStep);
    return value.includes(operand);
  }),
  $regex: {
    kind: "string",
    read(reader, operand, { field }) {
      const pattern = reader.pattern(operand, field);
      return (
        pattern &&
        ((value, work) => {
          if (typeof value !== "string") return false;
          work.take((value.length * pattern.size) / patternPartsOfStep);
          return pattern.test(value);
        })
      );
    },
  },
  $exist: {
    kind: null,
    isOfWhole: true,
    read(reader, operand, { field }) {
      if (typeof operand !== "boolean") return reader.refuse(field, "must be true or false");
      return (value) => (value !== null) === operand;
    },
  },
  $and: logical(holdAll),
  $or: logical((tests, value, work) => tests.some((test) => test(value, work))),
  $not: {
    kind: null,
    isOfWhole: true,
    read(reader, operand, place) {
      const test = reader.condition(operand, { ...place, depth: place.depth + 1 });
      return (value, work) => !test(value, work);
    },
  },
};

/** The names of all operators. */
export const operatorNames: readonly string[] = Object.keys(operators);

/** Operators of other languages, with what to write instead. */
const foreign: Readonly<Record<string, string>> = {
  $ne: "$neq",
  $exists: "$exist",
  $pattern: "$regex",
  $match: "$regex",
  $matches: "$regex",
  $includes: "$contains",
  $like: "$contains",
  $prefix: "$startsWith",
  $suffix: "$endsWith",
  $nor: '$not with {"$or": […]}',
  $elemMatch: "only the conditions: all of one object hold for the same item of a list",
};

class Reader {
  readonly problems: FieldProblem[] = [];
  #parts = 0;
  #patternSizes = 0;
  readonly #type: string;

  constructor(type: string) {
    this.#type = type;
  }

  /** Notes a problem. */
  refuse(field: string, message: string): null {
    if (this.problems.length < maxProblems) this.problems.push({ in: "body", field, message });
    return null;
  }

  /** Reads a condition on a value: a value that it must be equal to, or an object. */
  condition(source: unknown, place: Place): Test {
    if (isObject(source)) return this.object(source, place);
    if (!this.isComparable(source, place)) return never;
    const tests: Test[] = [(value) => value === source];
    return (value, work) => {
      work.take(1);
      return holdsForOne(tests, value, work);
    };
  }

  object(source: Json, place: Place): Test {
    const entries = Object.entries(source);
    const wrong = this.#excess(entries.length, place.depth);
    if (wrong !== null) return this.refuse(place.field, wrong) ?? never;
    const whole: Test[] = [];
    const ofItem: Test[] = [];
    for (const [name, inner] of entries) {
      const operator = name.startsWith("$") ? this.#operator(name, inner, place) : null;
      if (operator) (operator.isOfWhole ? whole : ofItem).push(operator.test);
      else if (!name.startsWith("$")) ofItem.push(this.#field(name, inner, place));
    }
    const [only] = ofItem;
    // Most objects have one field or operator. Thousands of conditions are evaluated in turn, so little memory counts.
    if (only && ofItem.length === 1 && whole.length === 0) {
      return (value, work) => {
        work.take(1);
        return Array.isArray(value) ? holdsForOne(ofItem, value, work) : only(value, work);
      };
    }
    return (value, work) => {
      work.take(entries.length);
      return holdAll(whole, value, work) && (ofItem.length === 0 || holdsForOne(ofItem, value, work));
    };
  }

  /** Counts the parts of an object. Returns what is wrong with their number or depth. */
  #excess(count: number, level: number): string | null {
    const { depth, parts } = conditionLimits;
    if (count === 0) return 'must not be empty; to test whether a field has a value, use {"$exist": true}';
    this.#parts += count;
    if (this.#parts > parts) return `must have at most ${parts} fields and operators in all`;
    return level > depth ? `must be at most ${depth} levels deep` : null;
  }

  #operator(name: string, operand: unknown, place: Place): { test: Test; isOfWhole: boolean } | null {
    const field = `${place.field}.${nameInField(name)}`;
    const operator = Object.hasOwn(operators, name) ? operators[name] : undefined;
    if (!operator) {
      const instead = Object.hasOwn(foreign, name)
        ? `use ${foreign[name]}`
        : `there are ${operatorNames.join(", ")}`;
      return this.refuse(field, `is not an operator; ${instead}`);
    }
    const { kind, isOfWhole = false, read } = operator;
    const { kinds } = place.shape;
    if (kind !== null && kinds?.has(kind) === false)
      return this.refuse(field, `compares with a ${kind}, but this is ${this.#described(kinds)}`);
    const test = read(this, operand, { ...place, field });
    return test && { test, isOfWhole };
  }

  #field(name: string, inner: unknown, place: Place): Test {
    const field = `${place.field}.${nameInField(name)}`;
    const { kinds, fields } = place.shape;
    const shape = place.shape.field(name);
    if (shape === null) {
      const [first = ""] = name.split(".");
      const isDotted = first !== name && place.shape.field(first) !== null;
      const hint = isDotted
        ? `; a field of an object is written inside it: {"${nameInField(first)}": {…}}`
        : `; there ${fields.length === 1 ? "is" : "are"} ${fields.slice(0, 20).map(nameInField).join(", ")}`;
      if (kinds?.has("object") === false)
        this.refuse(field, `cannot be: ${this.#described(kinds)} has no fields`);
      else this.refuse(field, `is not a field of ${this.#type} here${hint}`);
    }
    const test = this.condition(inner, { field, depth: place.depth + 1, shape: shape ?? Shape.any });
    return (value, work) => test(own(value, name), work);
  }

  /** Whether a value can be compared with. Notes the problem if it cannot. */
  isComparable(value: unknown, { field, shape }: Place): value is Primitive {
    if (typeof value === "object" && value !== null) {
      this.refuse(
        field,
        'must be a text, a number, true, false or null; for one of several values, use "$in"',
      );
      return false;
    }
    const kind = kindOf(value);
    const { kinds, values } = shape;
    if (kinds?.has(kind) === false) {
      this.refuse(field, `can never be a ${kind}: this is ${this.#described(kinds)}`);
      return false;
    }
    if (values?.has(value) === false) {
      const possible = [...values]
        .filter((allowed) => allowed !== null)
        .map((allowed) => JSON.stringify(allowed));
      this.refuse(field, `can only be ${possible.slice(0, 20).join(", ")} in ${this.#type}`);
      return false;
    }
    return true;
  }

  #described(kinds: ReadonlySet<Kind>): string {
    const names = [...kinds].filter((kind) => kind !== "null");
    const articled = names.map((name) => (name === "object" ? "an object" : `a ${name}`));
    return `${articled.join(" or ") || "null"} in ${this.#type}`;
  }

  pattern(source: unknown, field: string): Pattern | null {
    if (typeof source !== "string" || source === "")
      return this.refuse(field, "must be a regular expression, which is not empty");
    const { patternSizes } = conditionLimits;
    try {
      const pattern = patterns().boundedPattern(source, "u");
      this.#patternSizes += pattern.size;
      if (this.#patternSizes <= patternSizes) return pattern;
      const message = `is too large: all patterns of a filter together may have at most ${patternSizes} characters with repetitions written out`;
      return this.refuse(field, message);
    } catch (error) {
      if (error instanceof patterns().PatternError) return this.refuse(field, error.message);
      return this.refuse(
        field,
        `is not a regular expression: ${messageOf(error).slice(0, 200).toWellFormed()}`,
      );
    }
  }
}

/** Loaded on first use, because it takes longer than the rest of a start. */
const patterns = () => require("./patterns.ts") as typeof import("./patterns.ts");

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The value of a field; null when there is none. */
function own(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return null;
  return (value as Json)[name];
}
