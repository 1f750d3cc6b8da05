import { _, type Ajv2020 } from "ajv/dist/2020";
import type { CodeKeywordDefinition } from "ajv/dist/types";

/** What the references of a schema may be applied to in one check, in characters of JSON. */
const mostReferred = 32 * 1024 * 1024;
/** What applying a reference costs by itself, in the same unit. */
const ofOneReference = 100;

/**
 * Bounds the work of a check: where a schema refers to itself in two branches, both are tried for each level of a value,
 * which doubles the work with each. Every application of a reference takes the size of its value from a budget; beyond it the
 * check throws a `RangeError`, as where the stack overflows. What is between two references is bounded by the size of the
 * schema and of the value. Returns what fills the budget, which is due before each check.
 */
export function boundReferences(ajv: Ajv2020): () => void {
  let left = mostReferred;
  const take = (value: unknown): void => {
    left -= ofOneReference + JSON.stringify(value).length;
    if (left < 0) throw new RangeError("The references of the schema are applied too often");
  };
  for (const keyword of ["$ref", "$dynamicRef", "$recursiveRef"]) {
    const own = ajv.getKeyword(keyword) as CodeKeywordDefinition;
    ajv.removeKeyword(keyword).addKeyword({
      ...own,
      code(context, type) {
        context.gen.code(_`${context.gen.scopeValue("func", { ref: take })}(${context.data})`);
        own.code(context, type);
      },
    });
  }
  return () => {
    left = mostReferred;
  };
}
