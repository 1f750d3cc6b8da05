/**
 * What a server makes at random: ids, secrets and their first characters, cursors, positions of event streams, ETags of answers
 * with cursors.
 */
const generated =
  /[0-7][0-9A-HJKMNP-TV-Z]{25}|onair_[a-z]+_[\w-]+|whsec_[\w+/=]+|(?<="cursor":"|^id: )[\w-]+|(?<="etag":"\\")[^\\]+/gm;

/** A value that stands for one thing. A cursor may have several counterparts, because numbers have gaps on PostgreSQL. */
const named = /^(?:[0-7][0-9A-HJKMNP-TV-Z]{25}$|onair_|whsec_)/;

/** Where a text of a request can hold something of that kind. */
const words = /[\w-]{13,}/g;

/** Which generated value of one server stands for which of the other, by their first appearance in the same place. */
export class Counterparts {
  readonly #toOther = new Map<string, string>();
  readonly #toOne = new Map<string, string>();

  /** A text of a request to the one server, as the other one has to get it. */
  translated(text: string): string {
    return text.replace(words, (word) => this.#toOther.get(word) ?? word);
  }

  /**
   * Whether two texts of answers are the same but for generated values, each of which always has the same counterpart.
   */
  areSame(one: string, other: string): boolean {
    const [ofOne, ofOther] = [one.match(generated) ?? [], other.match(generated) ?? []];
    const isSameRest = one.replace(generated, "…") === other.replace(generated, "…");
    return isSameRest && ofOne.every((value, i) => this.#arePaired(value, ofOther[i] ?? ""));
  }

  #arePaired(one: string, other: string): boolean {
    if (!named.test(one)) {
      this.#toOther.set(one, other);
      return true;
    }
    const known = this.#toOther.get(one) ?? other;
    const knownBack = this.#toOne.get(other) ?? one;
    this.#toOther.set(one, known);
    this.#toOne.set(other, knownBack);
    return known === other && knownBack === one;
  }
}
