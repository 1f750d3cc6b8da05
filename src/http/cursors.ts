import { DomainError } from "../domain/errors.ts";
import type { Cursors } from "../ranking/cursor.ts";

const notOurs = "is not one that this server made; take it from the previous answer";

/** The check of a `cursor` parameter, for `readQuery`. */
export function cursorCheck(cursors: Cursors): (text: string) => string | null {
  return (text) => (cursors.read(text) ? null : notOurs);
}

/**
 * The position in a cursor that passed `cursorCheck`; null where there is none. Throws `invalid_cursor` where it was
 * made with another filter, named by `of` in the message.
 */
export function positionOf(
  cursors: Cursors,
  cursor: string | undefined,
  filter: string,
  of: string,
): readonly number[] | null {
  const found = cursor === undefined ? null : cursors.read(cursor);
  if (!found) return null;
  if (found.isFor(filter)) return found.position;
  const message = `belongs to ${of}`;
  throw new DomainError("invalid_cursor", `cursor ${message}`, {
    errors: [{ in: "query", field: "cursor", message }],
  });
}
