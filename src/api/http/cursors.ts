import { type Static, Type } from "@sinclair/typebox";
import type { Grant } from "../../domain/tokens.ts";
import { LimitParameter, named, TextParameter } from "./parameters.ts";

/*
 * The cursors of lists and streams, sealed, and lists in pages.
 */

/** The length of the tag, which is also the initialisation vector. */
const tagBytes = 16;

/**
 * Makes and opens sealed values: URL-safe, encrypted and authenticated, so that a value given to others comes back
 * unread and unchanged. Equal contents give equal values: the tag over the content is the initialisation vector of its
 * encryption (SIV, as in RFC 5297, with HMAC-SHA256 and AES-256-CTR).
 */
export class Seal {
  readonly #encryptionKey: Uint8Array;
  readonly #authenticationKey: Uint8Array;

  /**
   * @param secret the same across restarts and replicas, so that values stay valid
   * @param purpose a value of one purpose is none of another
   */
  constructor(secret: string, purpose: string) {
    this.#encryptionKey = hmac(secret, `${purpose} encryption`);
    this.#authenticationKey = hmac(secret, `${purpose} authentication`);
  }

  seal(content: Uint8Array): string {
    const tag = this.#tag(content);
    return Buffer.concat([tag, this.#crypt(content, tag)]).toString("base64url");
  }

  /** Returns the content of a value; null if it was not made with this secret for this purpose. */
  open(sealed: string): Buffer | null {
    const bytes = Buffer.from(sealed, "base64url");
    // Refuses other base64url spellings of the same bytes.
    if (bytes.length <= tagBytes || bytes.toString("base64url") !== sealed) return null;
    const tag = bytes.subarray(0, tagBytes);
    const content = this.#crypt(bytes.subarray(tagBytes), tag);
    return crypto.timingSafeEqual(this.#tag(content), tag) ? content : null;
  }

  /** Returns a hash of a text that only this secret gives. */
  hash(text: string): Buffer {
    return hmac(this.#authenticationKey, text);
  }

  #tag(content: Uint8Array): Buffer {
    return hmac(this.#authenticationKey, content).subarray(0, tagBytes);
  }

  /** Encrypts and decrypts. Loads node:crypto with the first value to keep it out of the start. */
  #crypt(content: Uint8Array, tag: Uint8Array): Buffer {
    const { createCipheriv } = process.getBuiltinModule("node:crypto");
    return createCipheriv("aes-256-ctr", this.#encryptionKey, tag).update(content);
  }
}

function hmac(key: string | Uint8Array, content: string | Uint8Array): Buffer {
  return new Bun.CryptoHasher("sha256", key).update(content).digest();
}

/** The longest accepted cursor, in characters. */
const maxLength = 200;
/** The length of the hash of a filter, in bytes. */
const markBytes = 8;
/** Positions are padded to blocks of this size, because their length would reveal the number of digits. */
const blockBytes = 48;

/** The position in a list or stream: numbers and ids. */
type Position = readonly (number | string)[];

/**
 * Makes and reads the opaque cursors of all lists and streams. A cursor is sealed, because plain numbers would reveal
 * the platform's volume. It contains a position and a hash of its filter, which includes the name of the list. Equal
 * positions give equal cursors, so that pages can have an ETag.
 */
export class Cursors {
  readonly #seal: Seal;

  /** @param secret the same across restarts, so that cursors stay valid */
  constructor(secret: string) {
    this.#seal = new Seal(secret, "cursor");
  }

  make(position: Position, filter: string): string {
    const text = JSON.stringify(position);
    const padded = text.padEnd(Math.ceil(text.length / blockBytes) * blockBytes);
    return this.#seal.seal(Buffer.concat([this.#mark(filter), Buffer.from(padded)]));
  }

  /** Returns the content of a cursor; null if it was not made with this secret. */
  read(cursor: string): { readonly position: Position; isFor(filter: string): boolean } | null {
    if (cursor.length > maxLength) return null;
    const content = this.#seal.open(cursor);
    if (!content || content.length <= markBytes) return null;
    return {
      position: JSON.parse(content.subarray(markBytes).toString()),
      isFor: (filter) => this.#mark(filter).equals(content.subarray(0, markBytes)),
    };
  }

  /** Returns a short hash of a filter. */
  #mark(filter: string): Buffer {
    return this.#seal.hash(`filter ${filter}`).subarray(0, markBytes);
  }
}

const notOurs = "is not a cursor of this server; use the one of the previous page";

type Query = Readonly<Record<string, unknown>>;

/**
 * The default filter of a list: all parameters except `limit` and `cursor`, and the caller's grant. The order of
 * parameters in a route is part of it: changing it invalidates cursors of earlier versions.
 */
function wholeFilter({ limit, cursor, ...filter }: Query, grant: Grant | null): string {
  return JSON.stringify([filter, grant && [grant.applicationId, grant.userId]]);
}

/**
 * The cursors of one list. Each is valid only with the filter of the request that it was made for.
 * @param filterOf returns the filter as text, from the query and the caller's grant
 */
export function listCursors<P extends Position>(cursors: Cursors, list: string, filterOf = wholeFilter) {
  const filter = (query: Query, grant: Grant | null) => `${list} ${filterOf(query, grant)}`;
  return {
    /** The parameter `cursor`; accepts only cursors of the same list and filter. */
    parameter: Type.Optional(
      TextParameter({
        allowEmptyValue: true,
        maxLength,
        description: "`pagination.cursor` of the previous page. Absent or empty for the first page.",
        refine: (text) => (cursors.read(text) ? null : notOurs),
        refineWithin: (text, query, grant) =>
          cursors.read(text)?.isFor(filter(query, grant)) ? null : "belongs to another list or filter",
      }),
    ),
    /** Returns the position in the accepted cursor of a query; null without a cursor. */
    positionIn: ({ cursor }: { readonly cursor?: string }): P | null =>
      cursor === undefined ? null : ((cursors.read(cursor)?.position as P) ?? null),
    /** Returns the cursor of a position in the list of this query. */
    make: (position: P, query: Query, grant: Grant | null): string =>
      cursors.make(position, filter(query, grant)),
  };
}

/** The pagination of a response. */
export const Pagination = named("Pagination", "The position of a page in its list.", {
  cursor: Type.String({
    maxLength,
    description: 'Cursor of the next page, to pass as `cursor`; `""` on the last page.',
  }),
  has_more: Type.Boolean({ description: "Whether there is a next page." }),
});

/**
 * Returns a page and its pagination from one item more than the page may have: that item shows whether there is a next
 * page.
 * @param cursorAfter returns the cursor of the position after an item
 */
export function pageIn<Item>(found: readonly Item[], limit: number, cursorAfter: (last: Item) => string) {
  const items = found.slice(0, limit);
  const last = items.at(-1);
  const has_more = found.length > limit;
  return { items, pagination: { cursor: has_more && last !== undefined ? cursorAfter(last) : "", has_more } };
}

const pages = { defaultResults: 25, maxResults: 100 };

interface Listed<Position extends string | number, Item, Shown> {
  /** Returns up to `limit` items after a position, with null the first items. */
  read(after: Position | null, limit: number): Promise<readonly Item[]>;
  positionOf(item: Item): Position;
  /** Returns an item in the form of the API's answer. */
  toJson(item: Item): Shown;
  /** The grant of the caller to whom the list is limited; null for operators. */
  readonly grant?: Grant | null;
}

/** A paged list. @param what the name of its items */
export function pagedList(what: string, cursors: Cursors) {
  const positions = listCursors<[string | number]>(cursors, what);
  const query = Type.Object({ limit: LimitParameter(what, pages), cursor: positions.parameter });
  return {
    /** The parameters of its query. */
    query,
    /** Returns the requested page. */
    async page<Position extends string | number, Item, Shown>(
      parameters: Static<typeof query>,
      { read, positionOf, toJson, grant = null }: Listed<Position, Item, Shown>,
    ) {
      const { limit = pages.defaultResults } = parameters;
      // Positions of one list have one type.
      const [after = null] = (positions.positionIn(parameters) ?? []) as [Position?];
      const { items, pagination } = pageIn(await read(after, limit + 1), limit, (last) =>
        positions.make([positionOf(last)], parameters, grant),
      );
      return { data: items.map(toJson), pagination, message: "OK" };
    },
  };
}
