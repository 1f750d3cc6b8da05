import { Changes } from "../changes.ts";

/** The bytes of an answer about one user. */
export type ProfileBytes = Uint8Array<ArrayBuffer>;

interface Entry {
  readonly id: number;
  readonly bytes: ProfileBytes;
}

interface Kept extends Entry {
  /** `Changes.of` its id. */
  readonly changes: number;
}

/**
 * Answers of Get User that are ready, by username in lower case. Whoever changes users notes that in `changes` before
 * it is acknowledged, so nobody is shown what was acknowledged as gone. Holds at most `maxEntries`: what was not asked
 * for while half as many others were is dropped.
 */
export class Profiles {
  #young = new Map<string, Kept>();
  #old = new Map<string, Kept>();

  constructor(
    readonly maxEntries = 50_000,
    readonly changes = new Changes(),
  ) {}

  /** Whether there is something under this spelling of a name. */
  has(name: string): boolean {
    return this.#young.has(name) || this.#old.has(name);
  }

  get(name: string): ProfileBytes | undefined {
    const young = this.#young.get(name);
    if (young) return this.#isGood(young) ? young.bytes : undefined;
    const old = this.#old.get(name);
    if (!old || !this.#isGood(old)) return undefined;
    this.#put(name, old);
    return old.bytes;
  }

  /** Loads what is missing with `load`. What was changed while it was loaded is answered but not kept. */
  async load(name: string, load: (name: string) => Promise<Entry | null>): Promise<ProfileBytes | null> {
    const before = this.changes.count;
    const entry = await load(name);
    if (!entry) return null;
    // Asked for before the count of all: then a change between the two is seen by one of them.
    const changes = this.changes.of(entry.id);
    if (this.changes.count === before) this.#put(name, { ...entry, changes });
    return entry.bytes;
  }

  forget(ids: readonly number[]): void {
    this.changes.note(ids);
  }

  #isGood({ id, changes }: Kept): boolean {
    return this.changes.of(id) === changes;
  }

  #put(name: string, entry: Kept): void {
    if (this.#young.size >= this.maxEntries / 2) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(name, entry);
  }
}
