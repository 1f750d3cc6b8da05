import type { FieldProblem } from "../errors.ts";

/**
 * The numbers in a JSON value that it cannot hold exactly, at most `limit`: integers beyond 2^53-1 are rounded when they are
 * read, and what is too large for a double is written as null (RFC 7493, section 2.2). Recursive: the depth of what is
 * published is limited.
 */
export function inexactNumbers(value: unknown, field: string, limit: number): FieldProblem[] {
  if (typeof value === "number") {
    if (Number.isSafeInteger(value) || (Number.isFinite(value) && !Number.isInteger(value))) return [];
    const message = `must be from -${Number.MAX_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER} to stay exact; make a larger number a string`;
    return [{ in: "body", field, message }];
  }
  if (typeof value !== "object" || value === null) return [];
  const found: FieldProblem[] = [];
  const isList = Array.isArray(value);
  for (const [name, inner] of Object.entries(value)) {
    const inside = isList ? `${field}[${name}]` : `${field}.${name.slice(0, 100)}`;
    found.push(...inexactNumbers(inner, inside, limit - found.length));
    if (found.length >= limit) break;
  }
  return found;
}
