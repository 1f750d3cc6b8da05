import { DomainError, invalidFields, nameInField } from "../errors.ts";

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
    throw invalidFields([{ in: "body", field: field || "body", message }]);
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
