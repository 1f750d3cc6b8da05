import { DomainError } from "../domain/errors.ts";
import type { ByteRange } from "../runtime/file-stream.ts";

const oneRange = /^bytes=(?:([0-9]+)-([0-9]*)|-([0-9]+))$/;

/**
 * Returns the requested range (RFC 9110, section 14). Returns null for the whole file: without a range, with
 * several ranges, or when `If-Range` names another version than `etag`. Throws `range_not_satisfiable`.
 */
export function rangeOf(
  asked: { readonly range: string | undefined; readonly ifRange: string | undefined },
  size: number,
  etag: string,
): ByteRange | null {
  const [range, first, last, ending] = oneRange.exec(asked.range ?? "") ?? [];
  if (range === undefined || (asked.ifRange ?? etag) !== etag) return null;
  if (first !== undefined && last && Number(last) < Number(first)) return null;
  const start = ending === undefined ? Number(first) : Math.max(0, size - Number(ending));
  if (start < size) return { start, end: last ? Math.min(size, Number(last) + 1) : size };
  throw new DomainError("range_not_satisfiable", `The file has ${size} bytes`, { wholeBytes: size });
}
