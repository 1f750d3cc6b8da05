import { DomainError } from "./errors.ts";

export const maxJsonDepth = 64;

const decoder = new TextDecoder("utf-8", { fatal: true });

/** Parses JSON in UTF-8, nested at most 64 deep; throws `invalid_json`, which calls it `what`. */
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
  try {
    return JSON.parse(text);
  } catch {
    throw invalid("is not valid JSON");
  }
}

const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const openBracket = 0x5b;
const closeBrace = 0x7d;
const closeBracket = 0x5d;

/** Found without recursion, before the parser sees the bytes. */
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
