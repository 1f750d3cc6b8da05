import type { Database } from "bun:sqlite";

/** Returns the distinct trigrams of a text: all sequences of three code points. */
export function trigrams(text: string): string[] {
  const points = [...text];
  const found = new Set<string>();
  for (let i = 2; i < points.length; i++) found.add(`${points[i - 2]}${points[i - 1]}${points[i]}`);
  return [...found];
}

const slots = 2 ** 16;

/**
 * Returns the slot in which a trigram is counted. Trigrams that share a slot seem a little more common than they are.
 */
function slotOf(first: number, second: number, third: number): number {
  const mix = (hash: number, point: number) => Math.imul(hash ^ point, 0x01000193);
  const hash = mix(mix(mix(0x811c9dc5, first), second), third);
  return (hash ^ (hash >>> 16)) & (slots - 1);
}

const pointOf = (character: string) => character.codePointAt(0) ?? 0;

/** Counts are written after this many changes, or after changes of a twentieth of the total if that is more. */
const leastUnwritten = 2_000;

/** How often a connection that reads checks for counts written by another one. */
const refreshMs = 1_000;

/**
 * Estimates how many users have a trigram, in 256 KB of memory. Only the speed of a search depends on it, so it is
 * written to the database only occasionally, for other connections to read, and a crash may lose some changes.
 */
export class TrigramCounts {
  readonly #write;
  readonly #revision;
  readonly #read;
  readonly #counts = new Uint32Array(slots);
  /** The sum of all counts; null until the first change, because only the connection that writes needs it. */
  #total: number | null = null;
  #unwritten = 0;
  /** The revision in the database; 0 for none. */
  #knownRevision = 0;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(db: Database) {
    this.#write = db.prepare(
      "INSERT OR REPLACE INTO search_statistics (id, revision, trigram_counts) VALUES (1, ?, ?)",
    );
    this.#revision = db.prepare<{ revision: number }, []>(
      "SELECT revision FROM search_statistics WHERE id = 1",
    );
    this.#read = db.prepare<{ trigram_counts: Uint8Array }, []>(
      "SELECT trigram_counts FROM search_statistics WHERE id = 1",
    );
  }

  /** Reads newer counts that another connection has written. */
  refresh(): void {
    const now = performance.now();
    if (now - this.#lookedAt < refreshMs) return;
    this.#lookedAt = now;
    const revision = this.#revision.get()?.revision ?? 0;
    if (revision === this.#knownRevision) return;
    this.#knownRevision = revision;
    const bytes = this.#read.get()?.trigram_counts;
    if (bytes?.byteLength !== this.#counts.byteLength) return;
    new Uint8Array(this.#counts.buffer).set(bytes);
  }

  #sum(): number {
    this.refresh();
    return this.#counts.reduce((sum, count) => sum + count, 0);
  }

  of(trigram: string): number {
    const [first = "", second = "", third = ""] = trigram;
    return this.#counts[slotOf(pointOf(first), pointOf(second), pointOf(third))] ?? 0;
  }

  /** Adds 1 or -1 to the counts of the trigrams of a text. */
  add(text: string, by: 1 | -1): void {
    this.#total ??= this.#sum();
    let [first, second] = [-1, -1];
    for (let i = 0; i < text.length; ) {
      const third = text.codePointAt(i) ?? 0;
      i += third > 0xffff ? 2 : 1;
      if (first >= 0) {
        const slot = slotOf(first, second, third);
        this.#counts[slot] = Math.max(0, (this.#counts[slot] ?? 0) + by);
        this.#total += by;
        this.#unwritten++;
      }
      [first, second] = [second, third];
    }
  }

  /** Writes the counts if enough have changed. Call it inside a transaction. */
  keep(): void {
    if (this.#unwritten < Math.max(leastUnwritten, (this.#total ?? 0) / 20)) return;
    this.#write.run(++this.#knownRevision, new Uint8Array(this.#counts.buffer));
    this.#unwritten = 0;
  }
}
