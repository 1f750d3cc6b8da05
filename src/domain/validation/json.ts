import { DomainError, type FieldProblem, invalidField, invalidFields, nameInField } from "../errors.ts";
import { maxProblems } from "./problems.ts";

const maxJsonDepth = 64;

const decoder = new TextDecoder("utf-8", { fatal: true });

/**
 * Parses JSON in UTF-8, nested at most 64 deep. Throws `invalid_json`, whose message names `what`, and
 * `invalid_parameter` for an unpaired surrogate in a string, which has no UTF-8 form (RFC 7493, section 2.1).
 */
export function parseJson(bytes: Uint8Array, what: "body" | "line" = "body"): unknown {
  const invalid = (message: string) => new DomainError("invalid_json", `The ${what} ${message}`);
  if (bytes.byteLength === 0) throw invalid("is empty; it must be JSON");
  if (isTooDeep(bytes)) throw invalid(`must not be nested more than ${maxJsonDepth} deep`);
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    throw invalid("is not valid UTF-8");
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalid("is not valid JSON");
  }
  // Valid UTF-8 can contain a surrogate only in an escape.
  if (escapedSurrogate.test(text)) refuseUnpairedSurrogates(value, "");
  return value;
}

/** Parses a JSON object from another system; null for invalid JSON, and for a value without fields. */
export function jsonObject(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" ? (value as Readonly<Record<string, unknown>> | null) : null;
  } catch {
    return null;
  }
}

const escapedSurrogate = /\\u[dD][89a-fA-F]/;

/** Throws for an unpaired surrogate in a string or name. Recursive: the depth is already checked. */
function refuseUnpairedSurrogates(value: unknown, field: string): void {
  if (typeof value === "string") {
    if (value.isWellFormed()) return;
    const message = "must not contain half of a surrogate pair";
    throw invalidField("body", field || "body", message);
  }
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) refuseUnpairedSurrogates(item, `${field}[${i}]`);
    return;
  }
  for (const [name, inner] of Object.entries(value)) {
    refuseUnpairedSurrogates(name, field);
    refuseUnpairedSurrogates(inner, field === "" ? nameInField(name) : `${field}.${nameInField(name)}`);
  }
}

const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const openBracket = 0x5b;
const closeBrace = 0x7d;
const closeBracket = 0x5d;

/** Checked without recursion, before the parser runs. */
function isTooDeep(bytes: Uint8Array): boolean {
  let depth = 0;
  let inString = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (inString) {
      if (byte === backslash) i++;
      else if (byte === quote) inString = false;
    } else if (byte === quote) inString = true;
    else if (byte === openBrace || byte === openBracket) {
      if (++depth > maxJsonDepth) return true;
    } else if (byte === closeBrace || byte === closeBracket) depth--;
  }
  return false;
}

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

/**
 * Returns a parsed JSON value as JSON with the fields of each object in one order, so that equal values have the same
 * text. Recursive: the depth of parsed JSON is limited.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const parts: string[] = [];
  if (Array.isArray(value)) {
    for (const item of value) parts.push(canonicalJson(item));
    return `[${parts.join(",")}]`;
  }
  const fields = value as Readonly<Record<string, unknown>>;
  for (const name of Object.keys(fields).sort())
    parts.push(`${JSON.stringify(name)}:${canonicalJson(fields[name])}`);
  return `{${parts.join(",")}}`;
}
