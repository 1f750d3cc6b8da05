import type { Profile } from "../../domain/users.ts";
import { Changes } from "../changes.ts";
import { ByteCache } from "./byte-cache.ts";

/** The bytes of an answer about one user. */
export type ProfileBytes = Profile["bytes"];

/** Reads what there is under names, in their order; null: nothing. */
export type ReadProfiles = (names: readonly string[]) => Promise<readonly (Profile | null)[]>;

export interface ProfilesOptions {
  readonly read: ReadProfiles;
  readonly maxBytes?: number;
  readonly changes?: Changes;
}

/** Who waits for a profile. */
interface Waiting {
  readonly name: string;
  readonly found: (bytes: ProfileBytes | null) => void;
  readonly failed: (error: unknown) => void;
}

/** 18,000 profiles of the usual size. */
const usualBytes = 8 * 2 ** 20;

/** Users that are read in one turn of the event loop, 4 to 8 µs for each; then others have theirs. */
const readAtOnce = 64;

/**
 * Answers of Get User, by username in lower case. Whoever changes users notes that in `changes` before it is
 * acknowledged, so nobody is shown what was acknowledged as gone. Holds at most `maxBytes`, of those who are asked for
 * most.
 *
 * What is missing is read once for all who ask for something in a turn of the event loop: what SQLite does then stays in
 * the processor's caches, so that a user costs less than half.
 */
export class Profiles {
  readonly changes: Changes;
  readonly #ready: ByteCache;
  readonly #read: ReadProfiles;
  #waiting: Waiting[] = [];

  constructor({ read, maxBytes = usualBytes, changes = new Changes() }: ProfilesOptions) {
    this.#read = read;
    this.#ready = new ByteCache(maxBytes);
    this.changes = changes;
  }

  /** The bytes are good until the end of this turn of the event loop. */
  get(name: string): ProfileBytes | undefined {
    const kept = this.#ready.get(name);
    return kept && this.changes.of(kept.id) === kept.stamp ? kept.bytes : undefined;
  }

  /**
   * Reads what is missing; null where there is no such user. What was changed meanwhile is answered but not kept.
   * Rejects as reading does.
   */
  load(name: string): Promise<ProfileBytes | null> {
    return new Promise((found, failed) => this.ask({ name, found, failed }));
  }

  /** As `load`, without its promise: `found` is called or, when it or reading throws, `failed`, which must not. */
  ask(waiting: Waiting): void {
    if (this.#waiting.length === 0) setImmediate(() => this.#loadSome());
    this.#waiting.push(waiting);
  }

  forget(ids: readonly number[]): void {
    this.changes.note(ids);
  }

  async #loadSome(): Promise<void> {
    const some = this.#waiting.splice(0, readAtOnce);
    if (this.#waiting.length > 0) setImmediate(() => this.#loadSome());
    const before = this.changes.count;
    let profiles: Awaited<ReturnType<ReadProfiles>>;
    try {
      profiles = await this.#read(some.map(({ name }) => name));
    } catch (error) {
      for (const { failed } of some) failed(error);
      return;
    }
    for (const [i, waiting] of some.entries()) this.#tell(waiting, profiles[i] ?? null, before);
  }

  #tell({ name, found, failed }: Waiting, profile: Profile | null, before: number): void {
    try {
      if (profile) this.#keep(name, profile, before);
      found(profile?.bytes ?? null);
    } catch (error) {
      failed(error);
    }
  }

  #keep(name: string, profile: Profile, before: number): void {
    const { id, bytes } = profile;
    // Asked for before the count of all: then a change between the two is seen by one of them.
    const stamp = this.changes.of(id);
    if (this.changes.count === before) this.#ready.put(name, { id, stamp, bytes });
  }
}
