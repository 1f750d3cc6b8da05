import { Type } from "@sinclair/typebox";
import { DomainError } from "../domain/errors.ts";
import { TextParameter } from "./parameters.ts";

/** The longest cursor that is read, in characters. */
const maxLength = 200;
const tagBytes = 16;
const markBytes = 8;
/** Positions of one list have the same length, because the number of digits would tell how large they are. */
const blockBytes = 48;

/** What says where a list or a stream goes on: numbers and ids. */
type Position = readonly (number | string)[];

/**
 * Makes and reads the opaque positions of all lists and streams. A cursor is URL-safe and holds a position and a mark of
 * the filter that it belongs to, which also tells the lists apart. It is encrypted, because plain numbers would tell how
 * much the platform does, and authenticated. The same position gives the same cursor, so that pages can have an ETag:
 * the tag over the content is the initialisation vector of its encryption (SIV, as in RFC 5297, with HMAC-SHA256 and
 * AES-256-CTR).
 */
export class Cursors {
  readonly #encryptionKey: Uint8Array;
  readonly #authenticationKey: Uint8Array;

  /** @param secret stays the same across restarts, so that clients can go on */
  constructor(secret: string) {
    this.#encryptionKey = hmac(secret, "cursor encryption");
    this.#authenticationKey = hmac(secret, "cursor authentication");
  }

  make(position: Position, filter: string): string {
    const text = JSON.stringify(position);
    const padded = text.padEnd(Math.ceil(text.length / blockBytes) * blockBytes);
    const content = Buffer.concat([this.#mark(filter), Buffer.from(padded)]);
    const tag = this.#tag(content);
    return Buffer.concat([tag, this.#crypt(content, tag)]).toString("base64url");
  }

  /** What a cursor holds; null for one that was not made here. */
  read(cursor: string): { readonly position: Position; isFor(filter: string): boolean } | null {
    if (cursor.length > maxLength) return null;
    const bytes = Buffer.from(cursor, "base64url");
    // Other spellings of the same bytes are refused, too.
    if (bytes.length <= tagBytes + markBytes || bytes.toString("base64url") !== cursor) return null;
    const tag = bytes.subarray(0, tagBytes);
    const content = this.#crypt(bytes.subarray(tagBytes), tag);
    if (!crypto.timingSafeEqual(this.#tag(content), tag)) return null;
    return {
      position: JSON.parse(content.subarray(markBytes).toString()),
      isFor: (filter) => this.#mark(filter).equals(content.subarray(0, markBytes)),
    };
  }

  /** Stands for a filter of any length. */
  #mark(filter: string): Buffer {
    return hmac(this.#authenticationKey, `filter ${filter}`).subarray(0, markBytes);
  }

  #tag(content: Uint8Array): Buffer {
    return hmac(this.#authenticationKey, content).subarray(0, tagBytes);
  }

  /** Encrypts and decrypts. node:crypto is loaded with the first cursor: that takes a start some milliseconds. */
  #crypt(content: Uint8Array, tag: Uint8Array): Buffer {
    const { createCipheriv } = process.getBuiltinModule("node:crypto");
    return createCipheriv("aes-256-ctr", this.#encryptionKey, tag).update(content);
  }
}

function hmac(key: string | Uint8Array, content: string | Uint8Array): Buffer {
  return new Bun.CryptoHasher("sha256", key).update(content).digest();
}

const notOurs = "is not one that this server made; take it from the previous answer";

/** The parameter `cursor` of a list, which takes only what `cursors` made. */
export function cursorParameter(cursors: Cursors) {
  return Type.Optional(
    TextParameter({
      allowEmptyValue: true,
      maxLength,
      description: "`pagination.cursor` of the previous page; empty for the first page.",
      refine: (text) => (cursors.read(text) ? null : notOurs),
    }),
  );
}

/** Where a page of a list ends. */
export const Pagination = Type.Object(
  {
    cursor: Type.String({
      maxLength,
      description: 'Pass it as `cursor` for the next page. It is `""` on the last one.',
    }),
    has_more: Type.Boolean({ description: "Whether there is a next page." }),
  },
  { $id: "Pagination", description: "Where a page ends.", additionalProperties: false },
);

/**
 * The position in a cursor of `cursorParameter`, as it was made with this filter; null where there is none. Throws
 * `invalid_cursor` where it was made with another filter, named by `of` in the message.
 */
export function positionOf<P extends Position>(
  cursors: Cursors,
  cursor: string | undefined,
  filter: string,
  of: string,
): P | null {
  const found = cursor === undefined ? null : cursors.read(cursor);
  if (!found) return null;
  if (found.isFor(filter)) return found.position as P;
  const message = `belongs to ${of}`;
  throw new DomainError("invalid_cursor", `cursor ${message}`, {
    errors: [{ in: "query", field: "cursor", message }],
  });
}
