import type { DataValidateFunction, FuncKeywordDefinition } from "ajv/dist/types";
import type { WorkBudget } from "./bounded-work.ts";

/**
 * `uniqueItems` in time that grows with the text of the items alone, which it takes from the budget; ajv's own compares each item
 * with each other.
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

/** What writing an item costs, in steps: each character of it, at most a value of its own. */
const stepsOfCharacter = 0.5;

/** The last item that is equal to one before it, and the nearest such one. */
function lastRepetition(
  items: readonly unknown[],
  { take }: WorkBudget,
): { readonly i: number; readonly j: number } | null {
  const seen = new Map<string, number>();
  let last = null;
  for (const [i, item] of items.entries()) {
    const text = JSON.stringify(item, withSortedNames);
    take(1 + text.length * stepsOfCharacter);
    const j = seen.get(text);
    if (j !== undefined) last = { i, j };
    seen.set(text, i);
  }
  return last;
}

/** The order of an object's fields does not tell two apart. */
function withSortedNames(_name: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
}
