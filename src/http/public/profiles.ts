import { Changes } from "../changes.ts";
import { ByteCache } from "./byte-cache.ts";

/** The bytes of an answer about one user. */
export type ProfileBytes = Uint8Array<ArrayBuffer>;

interface Entry {
  readonly id: number;
  readonly bytes: ProfileBytes;
}

/** 35,000 profiles of the usual size. */
const usualBytes = 16 * 2 ** 20;

/**
 * Answers of Get User that are ready, by username in lower case. Whoever changes users notes that in `changes` before
 * it is acknowledged, so nobody is shown what was acknowledged as gone. Holds at most `maxBytes`: what was not asked
 * for while half as much was is dropped.
 */
export class Profiles {
  readonly #ready: ByteCache;

  constructor(
    maxBytes = usualBytes,
    readonly changes = new Changes(),
  ) {
    this.#ready = new ByteCache(maxBytes);
  }

  /** Whether there is something under this spelling of a name. */
  has(name: string): boolean {
    return this.#ready.has(name);
  }

  get(name: string): ProfileBytes | undefined {
    const kept = this.#ready.get(name);
    return kept && this.changes.of(kept.id) === kept.stamp ? kept.bytes : undefined;
  }

  /** Loads what is missing with `load`. What was changed while it was loaded is answered but not kept. */
  async load(name: string, load: (name: string) => Promise<Entry | null>): Promise<ProfileBytes | null> {
    const before = this.changes.count;
    const entry = await load(name);
    if (!entry) return null;
    // Asked for before the count of all: then a change between the two is seen by one of them.
    const stamp = this.changes.of(entry.id);
    if (this.changes.count === before) this.#ready.put(name, { ...entry, stamp });
    return entry.bytes;
  }

  forget(ids: readonly number[]): void {
    this.changes.note(ids);
  }
}
