import { _, Ajv2020, type ErrorObject, Name } from "ajv/dist/2020";
import type {
  AddedKeywordDefinition,
  DataValidateFunction,
  FuncKeywordDefinition,
  RegExpLike,
} from "ajv/dist/types";
import { type FieldProblem, invalidField, messageOf, nameInField } from "../errors.ts";
import { canonicalJson } from "../validation/json.ts";
import { maxProblems } from "../validation/problems.ts";
import { schemaLimits } from "./event-type.ts";
import { boundedPattern, type Pattern, PatternError } from "./patterns.ts";

/*
 * ajv checks the payloads of registered event types against the schema of an operator. Two things are bounded: the
 * schema, so that compiling it does not delay requests, and the steps that the check of one payload takes. The bounds
 * of the schema do not bound the check: references repeat a small schema, and a keyword applies to each item of a list.
 */

type JsonObject = Readonly<Record<string, unknown>>;

/** Returns the problems of a value, at most 20, whose fields start with `prefix`; `[]` when it is valid. */
export type PayloadCheck = (data: unknown, prefix: string) => FieldProblem[];

/**
 * Compiles the schema of an event type. Throws `invalid_parameter` when it is not a JSON Schema of draft 2020-12, does
 * not describe an object, or exceeds `schemaLimits`.
 *
 * @param of the name of the event type, for problems
 */
export function compileSchema(schema: JsonObject, of: string): PayloadCheck {
  const check = compiled(schema);
  return (data, prefix) => problemsOf(check, data, prefix, of);
}

/** Returns the limit that a schema exceeds, as the rest of a sentence that begins with "schema"; else null. */
function exceededLimit(schema: JsonObject): string | null {
  const { bytes, depth, parts } = schemaLimits;
  if (Buffer.byteLength(JSON.stringify(schema)) > bytes) return `must be at most ${bytes} bytes as JSON`;
  const extent = extentOf(schema);
  if (extent.depth > depth) return `must be at most ${depth} levels deep, and has ${extent.depth}`;
  if (extent.parts <= parts) return null;
  return `must have at most ${parts} names of fields and items of lists together, and has ${extent.parts}`;
}

/** Counts the names of all objects in a value and the items of its lists, and its levels. */
function extentOf(value: unknown): { readonly parts: number; readonly depth: number } {
  if (typeof value !== "object" || value === null) return { parts: 0, depth: 0 };
  const inner = Object.values(value);
  let parts = inner.length;
  let depth = 0;
  for (const extent of inner.map(extentOf)) {
    parts += extent.parts;
    depth = Math.max(depth, extent.depth);
  }
  return { parts, depth: depth + 1 };
}

/** Returns the errors of a payload. Throws a `RangeError` when the check would take too long. */
type SchemaCheck = (data: unknown) => readonly ErrorObject[];

const options = {
  strictTypes: false,
  strictRequired: false,
  // Otherwise ajv tries each pattern of names on each name, with an engine that backtracks.
  allowMatchingProperties: true,
  // `format` is an annotation, as in the draft.
  validateFormats: false,
  logger: false,
} as const;

/** Checks schemas against the draft. A single instance, because compiling the schema of the draft itself takes long. */
let draft: Ajv2020 | null = null;

function compiled(schema: JsonObject): SchemaCheck {
  const refuse = (message: string) => invalidField("body", "schema", message);
  if (schema["type"] !== "object") throw refuse('must describe an object: "type": "object"');
  const tooLarge = exceededLimit(schema);
  if (tooLarge !== null) throw refuse(tooLarge);
  // The promise of an asynchronous check would count as success.
  if ("$async" in schema) throw refuse("must not have $async");
  const budget = new WorkBudget();
  const regExp = patternCompiler(budget);
  const checkBy = (allErrors: boolean): SchemaCheck => {
    // One instance for each schema, so that their ids do not collide.
    const ajv = new Ajv2020({
      ...options,
      allErrors,
      validateSchema: false,
      // Inlined, a large definition would be repeated at each reference.
      inlineRefs: false,
      // Longer lists are read in a loop, which takes less time to compile than code for each item.
      loopRequired: 20,
      loopEnum: 20,
      // Optimizing the generated code takes longer than it saves.
      code: { regExp, optimize: false },
    });
    ajv.removeKeyword("uniqueItems").addKeyword(boundedUniqueItems(budget));
    boundWork(ajv, budget);
    const validate = ajv.compile(schema);
    return (data) => (validate(data) ? [] : (validate.errors ?? []));
  };
  try {
    draft ??= new Ajv2020(options);
    draft.validateSchema(schema, true);
    const check = thorough(checkBy(false), () => checkBy(true));
    return (data) => {
      budget.fill();
      return check(data);
    };
  } catch (error) {
    if (error instanceof PatternError) throw refuse(error.message);
    const reason = messageOf(error);
    throw refuse(`is not a JSON Schema of draft 2020-12: ${reason.slice(0, 300).toWellFormed()}`);
  }
}

/** Returns the function with which ajv compiles the patterns of one schema. Each different pattern is compiled once. */
function patternCompiler(budget: WorkBudget) {
  const { patterns, patternSizes } = schemaLimits;
  const known = new Map<string, RegExpLike>();
  let sizes = 0;
  const compile = (source: string, flags: string): RegExpLike => {
    if (known.size === patterns)
      throw new PatternError(`has too many patterns: at most ${patterns} different ones`);
    const pattern = boundedPattern(source, flags);
    sizes += pattern.size;
    if (sizes > patternSizes)
      throw new PatternError(
        `has too many large patterns: together they may have at most ${patternSizes} characters with repetitions written out`,
      );
    const bounded = boundPattern(source, pattern, budget);
    known.set(source, bounded);
    return bounded;
  };
  const regExp = (source: string, flags: string) => known.get(source) ?? compile(source, flags);
  regExp.code = "regExp";
  return regExp;
}

/**
 * A check that stops at the first error, and collects all errors only if there is one. Collecting from the start would
 * follow each alternative of `anyOf` to its end, even one that does not match: with nested alternatives, the work
 * multiplies with each level. Only the first error is returned when the budget is too small for collecting, or ajv
 * fails to collect: with alternatives beside `unevaluatedProperties` it loses errors, or its generated code throws.
 */
function thorough(first: SchemaCheck, collecting: () => SchemaCheck): SchemaCheck {
  let all: SchemaCheck | null = null;
  return (data) => {
    const found = first(data);
    if (found.length === 0) return found;
    try {
      all ??= collecting();
      const collected = all(data);
      return collected.length > 0 ? collected : found;
    } catch {
      return found;
    }
  };
}

function problemsOf(check: SchemaCheck, data: unknown, prefix: string, of: string): FieldProblem[] {
  let errors: readonly ErrorObject[];
  try {
    errors = check(data);
  } catch (error) {
    // The budget is used up, or the stack overflowed: the depth of payloads is limited, that of references is not.
    if (!(error instanceof RangeError)) throw error;
    const message = `cannot be checked, because applying the schema of ${of} to it takes too many steps`;
    return [{ in: "body", field: prefix, message }];
  }
  const messages = new Map<string, string>();
  for (const error of errors) {
    const { field, message } = problemOf(error, prefix, of);
    if (!messages.has(field)) messages.set(field, message);
    if (messages.size === maxProblems) break;
  }
  return Array.from(messages, ([field, message]) => ({ in: "body", field, message }));
}

function problemOf(
  { instancePath, keyword, params, message }: ErrorObject,
  prefix: string,
  of: string,
): { field: string; message: string } {
  const field = `${prefix}${instancePath.split("/").slice(1).map(segment).join("")}`;
  if (keyword === "required") {
    return { field: `${field}${segment(params["missingProperty"])}`, message: "is required" };
  }
  if (keyword === "additionalProperties") {
    const name = segment(params["additionalProperty"]);
    return { field: `${field}${name}`, message: `is not a field of ${of}` };
  }
  return { field, message: message ?? "is not valid" };
}

function segment(part: unknown): string {
  const name = String(part).replaceAll("~1", "/").replaceAll("~0", "~");
  return /^[0-9]+$/.test(name) ? `[${name}]` : `.${nameInField(name)}`;
}

type Keyword = Extract<AddedKeywordDefinition, { readonly code: unknown }>;

/** The steps that the check of one payload may take. */
const mostSteps = 750_000;
/** Characters, or names compared with one another, that count as one step. */
const smallPartsOfStep = 16;
/** Characters of a text times the size of a pattern that count as one step. */
const patternPartsOfStep = 8;

/** The steps that are left for the check of one payload. They bound its time on the main thread. */
class WorkBudget {
  #left = mostSteps;

  /** Takes steps. Throws a `RangeError` when none are left, the error that a stack overflow throws, too. */
  readonly take = (steps: number): void => {
    this.#left -= steps;
    if (this.#left < 0) throw new RangeError("The check takes too long");
  };

  fill(): void {
    this.#left = mostSteps;
  }
}

/** Steps for each part of a value, for keywords that look at all parts. */
const stepsOfValue: Readonly<Record<string, number>> = {
  minLength: 1 / smallPartsOfStep,
  maxLength: 1 / smallPartsOfStep,
  items: 1,
  // For each item that does not match, an error is created and discarded.
  contains: 3,
  unevaluatedItems: 1,
  minProperties: 1,
  maxProperties: 1,
  additionalProperties: 1,
  patternProperties: 1,
  propertyNames: 1,
  unevaluatedProperties: 1,
};
/** Keywords that apply all parts of a schema to the same value. */
const applying: ReadonlySet<string> = new Set(["allOf", "anyOf", "oneOf"]);
/** Keywords that compare a value with each character of their own text. */
const comparing: ReadonlySet<string> = new Set(["enum", "const"]);

/**
 * Makes each keyword of a schema take steps from the budget wherever it is applied: one, and those for the parts of the
 * schema and of the value that it looks at. Repetition by references, lists or nested alternatives counts each time.
 */
function boundWork(ajv: Ajv2020, { take }: WorkBudget): void {
  const takeFor = (value: unknown, steps: number, ofEach: number) =>
    take(ofEach === 0 ? steps : steps + parts(value) * ofEach);
  for (const rule of Object.values(ajv.RULES.all)) {
    if (typeof rule !== "object" || !("code" in rule.definition)) continue;
    const own = rule.definition as Keyword;
    const code: Keyword["code"] = (context, type) => {
      const { gen, data, it, keyword } = context;
      let ofEach = stepsOfValue[keyword] ?? 0;
      // Each name of the value is compared with the known names.
      if (keyword === "unevaluatedProperties" && !(it.props instanceof Name)) {
        ofEach += parts(it.props) / smallPartsOfStep;
      }
      const taking = gen.scopeValue("func", { ref: takeFor });
      gen.code(_`${taking}(${data}, ${stepsOfSchema(keyword, context.schema)}, ${ofEach})`);
      own.code(context, type);
    };
    rule.definition = { ...own, code };
  }
}

function stepsOfSchema(keyword: string, schema: unknown): number {
  if (applying.has(keyword)) return 1 + parts(schema);
  return 1 + parts(comparing.has(keyword) ? JSON.stringify(schema) : schema) / smallPartsOfStep;
}

/** Returns the pattern with a `test` that takes steps for the length of the text and the size of the pattern. */
function boundPattern(source: string, pattern: Pattern, { take }: WorkBudget): RegExpLike {
  const bound = {
    // ajv treats expressions with the same text as one.
    toString: () => source,
    test(text: string) {
      take(1 + (text.length * pattern.size) / patternPartsOfStep);
      return pattern.test(text);
    },
  };
  return bound;
}

/** The number of parts of a value: characters, items, or names. */
function parts(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 0;
  return Array.isArray(value) ? value.length : Object.keys(value).length;
}

/**
 * `uniqueItems` in time proportional to the text of the items, which it takes from the budget. ajv's own keyword
 * compares each pair of items.
 */
function boundedUniqueItems(budget: WorkBudget): FuncKeywordDefinition {
  return {
    keyword: "uniqueItems",
    type: "array",
    schemaType: "boolean",
    compile(isUnique: boolean): DataValidateFunction {
      const validate: DataValidateFunction = (items: readonly unknown[]) => {
        const same = isUnique && items.length > 1 ? lastRepetition(items, budget) : null;
        if (!same) return true;
        const { i, j } = same;
        const message = `must NOT have duplicate items (items ## ${j} and ${i} are identical)`;
        validate.errors = [{ keyword: "uniqueItems", message, params: { i, j } }];
        return false;
      };
      return validate;
    },
  };
}

/** The steps for each character of an item as JSON. Each value in an item takes at least one character. */
const stepsOfCharacter = 0.5;
/** The steps for each item: writing and storing its text costs more than one application of a keyword. */
const stepsOfItem = 4;

/** Finds the last item `i` that equals an earlier item, and the nearest such item `j`. */
function lastRepetition(
  items: readonly unknown[],
  { take }: WorkBudget,
): { readonly i: number; readonly j: number } | null {
  const seen = new Map<string, number>();
  let last = null;
  for (const [i, item] of items.entries()) {
    const text = canonicalJson(item);
    take(stepsOfItem + text.length * stepsOfCharacter);
    const j = seen.get(text);
    if (j !== undefined) last = { i, j };
    seen.set(text, i);
  }
  return last;
}
