import { _, type Ajv2020, Name } from "ajv/dist/2020";
import type { AddedKeywordDefinition, RegExpLike } from "ajv/dist/types";
import type { Pattern } from "./patterns.ts";

type Keyword = Extract<AddedKeywordDefinition, { readonly code: unknown }>;

/** The steps that the check of one payload may take. */
const mostSteps = 750_000;
/** Characters, or names compared with one another, that count as one step. */
const smallPartsOfStep = 16;
/** Characters of a text times the size of a pattern that count as one step. */
const patternPartsOfStep = 8;

/** The steps that are left for the check of one payload. They bound its time on the main thread. */
export class WorkBudget {
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
export function boundWork(ajv: Ajv2020, { take }: WorkBudget): void {
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
export function boundPattern(source: string, pattern: Pattern, { take }: WorkBudget): RegExpLike {
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
