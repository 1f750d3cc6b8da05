/** The bytes of an answer about one user. */
export type ProfileBytes = Uint8Array<ArrayBuffer>;

interface Entry {
  readonly id: number;
  readonly bytes: ProfileBytes;
}

/**
 * Answers of Get User that are ready, by username in lower case. Whoever changes users calls `forget` before the change
 * is acknowledged, so nobody is shown what was acknowledged as gone. Holds at most `maxEntries`: what was not asked
 * for while half as many others were is dropped.
 */
export class Profiles {
  #young = new Map<string, Entry>();
  #old = new Map<string, Entry>();
  readonly #names = new Map<number, string>();
  #changes = 0;

  constructor(readonly maxEntries = 50_000) {}

  /** Whether there is something under this spelling of a name. */
  has(name: string): boolean {
    return this.#young.has(name) || this.#old.has(name);
  }

  get(name: string): ProfileBytes | undefined {
    const young = this.#young.get(name);
    if (young) return young.bytes;
    const old = this.#old.get(name);
    if (old) this.#put(name, old);
    return old?.bytes;
  }

  /** Loads what is missing with `load`. What was changed while it was loaded is answered but not kept. */
  async load(name: string, load: (name: string) => Promise<Entry | null>): Promise<ProfileBytes | null> {
    const changes = this.#changes;
    const entry = await load(name);
    if (entry && changes === this.#changes) this.#put(name, entry);
    return entry?.bytes ?? null;
  }

  forget(ids: readonly number[]): void {
    this.#changes++;
    for (const id of ids) {
      const name = this.#names.get(id);
      if (name === undefined) continue;
      this.#names.delete(id);
      this.#young.delete(name);
      this.#old.delete(name);
    }
  }

  #put(name: string, entry: Entry): void {
    if (this.#young.size >= this.maxEntries / 2) {
      for (const [gone, { id }] of this.#old) if (!this.#young.has(gone)) this.#names.delete(id);
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(name, entry);
    this.#names.set(entry.id, name);
  }
}
