import { LRUCache } from "lru-cache";
import type { User } from "../../domain/users.ts";
import type { UserStore } from "../../store/users.ts";

/** The size of the cache. */
const maxUsers = 50_000;

/**
 * An LRU cache of users in front of the store. Code that changes users calls `forget` after the change is stored and
 * before it is acknowledged, so that no older entry hides the change.
 */
export class UserCache {
  readonly #names = new Map<number, string>();
  /** Counts the calls of `forget`. */
  #changes = 0;
  readonly #users = new LRUCache<string, User>({
    max: maxUsers,
    dispose: ({ id }, name) => {
      if (this.#names.get(id) === name) this.#names.delete(id);
    },
  });

  constructor(readonly store: Pick<UserStore, "find">) {}

  /** By username, without regard to ASCII case; null where there is no such user. */
  async find(username: string): Promise<User | null> {
    const name = username.toLowerCase();
    const kept = this.#users.get(name);
    if (kept) return kept;
    const changes = this.#changes;
    const user = await this.store.find(name);
    // Where users changed during the read, it may be of the old state.
    if (user && changes === this.#changes) {
      // Removes the entry under the former name of a renamed user.
      this.#drop(user.id);
      this.#users.set(name, user);
      this.#names.set(user.id, name);
    }
    return user;
  }

  forget(ids: readonly number[]): void {
    this.#changes++;
    for (const id of ids) this.#drop(id);
  }

  #drop(id: number): void {
    const name = this.#names.get(id);
    if (name !== undefined) this.#users.delete(name);
  }
}
