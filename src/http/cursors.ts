import { Type } from "@sinclair/typebox";
import { DomainError } from "../domain/errors.ts";
import { IntegerParameter, TextParameter } from "./parameters.ts";

/** The longest accepted cursor, in characters. */
const maxLength = 200;
const tagBytes = 16;
const markBytes = 8;
/** Positions are padded to blocks: their length would reveal their number of digits. */
const blockBytes = 48;

/** The position in a list or stream: numbers and ids. */
type Position = readonly (number | string)[];

/**
 * Makes and reads the opaque positions of all lists and streams. A cursor is URL-safe and holds a position and a hash
 * of the filter that it belongs to, which also distinguishes the lists. It is encrypted, because plain numbers would
 * reveal the platform's volume, and authenticated. Equal positions give equal cursors, so that pages can have an ETag:
 * the tag over the content is the initialisation vector of its encryption (SIV, as in RFC 5297, with HMAC-SHA256 and
 * AES-256-CTR).
 */
export class Cursors {
  readonly #encryptionKey: Uint8Array;
  readonly #authenticationKey: Uint8Array;

  /** @param secret the same across restarts, so that cursors stay valid */
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

  /** The content of a cursor; null when it was not made with this secret. */
  read(cursor: string): { readonly position: Position; isFor(filter: string): boolean } | null {
    if (cursor.length > maxLength) return null;
    const bytes = Buffer.from(cursor, "base64url");
    // Refuses other base64url spellings of the same bytes.
    if (bytes.length <= tagBytes + markBytes || bytes.toString("base64url") !== cursor) return null;
    const tag = bytes.subarray(0, tagBytes);
    const content = this.#crypt(bytes.subarray(tagBytes), tag);
    if (!crypto.timingSafeEqual(this.#tag(content), tag)) return null;
    return {
      position: JSON.parse(content.subarray(markBytes).toString()),
      isFor: (filter) => this.#mark(filter).equals(content.subarray(0, markBytes)),
    };
  }

  /** A short hash of a filter. */
  #mark(filter: string): Buffer {
    return hmac(this.#authenticationKey, `filter ${filter}`).subarray(0, markBytes);
  }

  #tag(content: Uint8Array): Buffer {
    return hmac(this.#authenticationKey, content).subarray(0, tagBytes);
  }

  /** Encrypts and decrypts. Loads node:crypto with the first cursor to keep it out of the start. */
  #crypt(content: Uint8Array, tag: Uint8Array): Buffer {
    const { createCipheriv } = process.getBuiltinModule("node:crypto");
    return createCipheriv("aes-256-ctr", this.#encryptionKey, tag).update(content);
  }
}

function hmac(key: string | Uint8Array, content: string | Uint8Array): Buffer {
  return new Bun.CryptoHasher("sha256", key).update(content).digest();
}

const notOurs = "is not one that this server made; take it from the previous answer";

/** The parameter `cursor` of a list; accepts only cursors that `cursors` made. */
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

/** The pagination part of an answer. */
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
 * The position in a cursor of `cursorParameter` that was made with this filter; null without a cursor. Throws
 * `invalid_cursor` for a cursor of another filter, which `of` names in the message.
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

const listed = { maxResults: 100, defaultResults: 25 } as const;

/**
 * A list that shows the newest first, by a number that ascends with time.
 *
 * @param what the name of its items
 */
export function newestFirst(cursors: Cursors, what: string) {
  const { maxResults: maximum, defaultResults } = listed;
  const description = `How many ${what} to return.`;
  const limit = IntegerParameter({ minimum: 1, maximum, default: defaultResults, description });
  return {
    /** The parameters of its query. */
    query: { limit: Type.Optional(limit), cursor: cursorParameter(cursors) },
    /**
     * The requested page. `read` gives up to a number of items whose number is below another (null: the newest), `shown`
     * what the answer has of one. A cursor belongs to the `filter` that the list is limited to.
     */
    async page<Item extends { readonly seq: number }, Shown>(
      { limit = defaultResults, cursor: from }: { limit?: number; cursor?: string },
      { read, shown, filter }: NewestPage<Item, Shown>,
    ) {
      const mark = `${what} ${filter}`;
      const [below = null] = positionOf<[number]>(cursors, from, mark, "another list or filter") ?? [];
      // One more than is asked for tells whether there is a next page.
      const found = await read(below, limit + 1);
      const items = found.slice(0, limit);
      const last = items.at(-1);
      const has_more = found.length > limit;
      const cursor = has_more && last !== undefined ? cursors.make([last.seq], mark) : "";
      return { data: items.map(shown), pagination: { cursor, has_more }, message: "OK" };
    },
  };
}

interface NewestPage<Item, Shown> {
  read(below: number | null, limit: number): Promise<readonly Item[]>;
  shown(item: Item): Shown;
  readonly filter: string;
}
