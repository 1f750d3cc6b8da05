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

/** What the check of one payload may still take of the main thread's time, in steps. */
export class WorkBudget {
  // What compiles a schema checks that too, which its length bounds.
  #left = Number.POSITIVE_INFINITY;

  /** Takes steps. Throws a `RangeError` when there are no more, as where the stack overflows. */
  readonly take = (steps: number): void => {
    this.#left -= steps;
    if (this.#left < 0) throw new RangeError("The check takes too long");
  };

  fill(): void {
    this.#left = mostSteps;
  }
}

/** The steps that a keyword takes for each part of a value: of those that look at all of them. */
const stepsOfValue: Readonly<Record<string, number>> = {
  minLength: 1 / smallPartsOfStep,
  maxLength: 1 / smallPartsOfStep,
  items: 1,
  // What does not match is an error first, which is forgotten.
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
/** Keywords that compare with each character of what the schema says. */
const comparing: ReadonlySet<string> = new Set(["enum", "const"]);

/**
 * Makes each keyword of a schema take from the budget wherever it is applied: a step, and what it looks at of the schema and of
 * the value. What is applied again and again, by references, lists or alternatives inside of each other, is counted each time.
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
      // Each name of the value is compared with those that are known.
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

/** The pattern, whose test takes from the budget what the text and its size can cost. */
export function boundPattern(source: string, pattern: Pattern, { take }: WorkBudget): RegExpLike {
  const bound = {
    // ajv takes those of the same text for the same one.
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
