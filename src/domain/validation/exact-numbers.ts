import { type FieldProblem, invalidFields, nameInField } from "../errors.ts";
import { parseJson } from "./json.ts";
import { maxProblems } from "./problems.ts";

/** The problem of a number that is not exact. It follows the name of a field. */
export const inexactMessage = `cannot be represented exactly: integers are exact up to ${Number.MAX_SAFE_INTEGER}; send a larger one as a string`;

/**
 * Parses an object like `parseJson`. Throws `invalid_parameter` for numbers in one field that would be sent with
 * another value: integers that parsing rounds, and numbers too large for a double, which are written as null (RFC 7493,
 * section 2.2). A number with a fraction or an exponent is accepted: its sender means a double, too.
 */
export function parseExactJson(bytes: Uint8Array, what: "body" | "line", field: string): unknown {
  const value = parseJson(bytes, what);
  const held = (value as Readonly<Record<string, unknown>> | null)?.[field];
  // Nearly all bodies have none. Only a second parse gives access to the source text of a number.
  if (!hasUnsafe(held)) return value;
  const inexact = inexactNumbers(new TextDecoder().decode(bytes));
  const wrong = wrongNumbers(held, field, inexact, maxProblems);
  if (wrong.length > 0) throw invalidFields(wrong);
  return value;
}

const isUnsafe = (number: number) => Math.abs(number) > Number.MAX_SAFE_INTEGER;

/** Recursive, as `wrongNumbers` is: the depth of parsed JSON is limited. */
function hasUnsafe(value: unknown): boolean {
  if (typeof value === "number") return isUnsafe(value);
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.some(hasUnsafe);
  for (const name in value) if (hasUnsafe((value as Readonly<Record<string, unknown>>)[name])) return true;
  return false;
}

/**
 * Returns the parsed values of numbers in a JSON text whose source has another value. Throws a `SyntaxError` for text
 * that is not JSON.
 */
export function inexactNumbers(text: string): ReadonlySet<number> {
  const found = new Set<number>();
  JSON.parse(text, (_, value: unknown, context?: { readonly source?: string }) => {
    if (typeof value !== "number" || !isUnsafe(value)) return value;
    const source = context?.source ?? "";
    const isInteger = /^-?[0-9]+$/.test(source);
    if (!Number.isFinite(value) || (isInteger && digits(source) !== digits(`${value}`))) found.add(value);
    return value;
  });
  return found;
}

/** The digits of an integer without the zeros at its end: from 1e21 on, it is written as a power of ten. */
const digits = (text: string) => text.replace(/e.*$/, "").replace(".", "").replace(/0+$/, "");

function wrongNumbers(
  value: unknown,
  field: string,
  wrong: ReadonlySet<number>,
  limit: number,
): FieldProblem[] {
  if (typeof value === "number" && wrong.has(value)) return [{ in: "body", field, message: inexactMessage }];
  if (typeof value !== "object" || value === null) return [];
  const found: FieldProblem[] = [];
  const isList = Array.isArray(value);
  for (const [name, inner] of Object.entries(value)) {
    const inside = isList ? `${field}[${name}]` : `${field}.${nameInField(name)}`;
    found.push(...wrongNumbers(inner, inside, wrong, limit - found.length));
    if (found.length >= limit) break;
  }
  return found;
}
