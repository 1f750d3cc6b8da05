import type { DataValidateFunction, FuncKeywordDefinition } from "ajv/dist/types";
import { canonicalJson } from "../validation/json.ts";
import type { WorkBudget } from "./bounded-work.ts";

/**
 * `uniqueItems` in time proportional to the text of the items, which it takes from the budget. ajv's own keyword
 * compares each pair of items.
 */
export function boundedUniqueItems(budget: WorkBudget): FuncKeywordDefinition {
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

/** Finds the last item `i` that equals an earlier one, and the nearest such `j`. */
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
