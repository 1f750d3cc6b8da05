import { isInForce, isUnshown, newLastUse, type OperatorKey } from "../../domain/operator-keys.ts";
import { second } from "../../domain/time.ts";
import { secretHash } from "../../domain/tokens.ts";
import { inTime } from "../../runtime/event-loop.ts";
import type { Store } from "../../store/store.ts";

interface OperatorKeyOptions {
  readonly store: Pick<Store, "operatorKeys">;
  readonly now: () => number;
  /** Whether changes of other replicas have been received; absent if there are no replicas. */
  readonly isCurrent?: () => boolean;
  /** The key from the environment; it replaces every generated one. */
  readonly environment?: string | null;
  /** A key for requests of this process itself; not listed. */
  readonly own?: string | null;
}

/** The id of the key that the environment sets. */
export const environmentKeyId = "environment";

const ofEnvironment = { id: environmentKeyId, name: "ONAIR_ADMIN_KEY" } as const;
/** The name of this process's own key in the audit log. */
const thisProcess = { id: "command-line", name: "a command in the data directory" } as const;

/** The operator keys in memory: those of the store and the one from the environment. */
export class OperatorKeys {
  readonly #options: OperatorKeyOptions;
  readonly #environment: OperatorKey | null;
  readonly #own: OperatorKey | null;
  #stored: readonly OperatorKey[] = [];
  #lastTurn = 0;
  #loadedTurn = 0;
  readonly #hashes = new WeakMap<OperatorKey, Uint8Array>();
  readonly #lastUses = new Map<string, number>();

  constructor(options: OperatorKeyOptions) {
    const { now, environment = null, own = null } = options;
    this.#options = options;
    this.#environment = environment === null ? null : this.#unstored(environment, now(), ofEnvironment);
    this.#own = own === null ? null : this.#unstored(own, now(), thisProcess);
  }

  /** Whether the environment sets a key. */
  get hasEnvironmentKey(): boolean {
    return this.#environment !== null;
  }

  /** Loads the keys from the store. Called after each change, before it is acknowledged. */
  async load(): Promise<void> {
    const turn = ++this.#lastTurn;
    const keys = await this.#options.store.operatorKeys.all();
    // A later load has already ended.
    if (turn < this.#loadedTurn) return;
    this.#loadedTurn = turn;
    const isReplaced = ({ source }: OperatorKey) => this.hasEnvironmentKey && source === "generated";
    this.#stored = keys.filter((key) => !isReplaced(key) && !isUnshown(key));
    for (const key of this.#stored) this.#hashes.set(key, Buffer.from(key.hash, "base64"));
    const ids = new Set([environmentKeyId, ...this.#stored.map(({ id }) => id)]);
    for (const id of this.#lastUses.keys()) if (!ids.has(id)) this.#lastUses.delete(id);
  }

  /** Whether changes of other replicas may be missing. If so, call `refresh` before `find`. */
  get isOutdated(): boolean {
    return this.#options.isCurrent?.() === false;
  }

  /** Loads the keys. Waits at most a second; if the database does not respond, the known keys stay valid. */
  async refresh(): Promise<void> {
    await inTime(this.load(), second).catch(() => {});
  }

  /** All keys, expired ones too, except generated keys that were never shown. */
  list(): OperatorKey[] {
    const keys = this.#environment === null ? this.#stored : [this.#environment, ...this.#stored];
    return keys.map((key) => ({ ...key, last_used_at: this.#lastUses.get(key.id) ?? key.last_used_at }));
  }

  /** Returns the key whose secret has this SHA-256; null if it is unknown or expired. */
  find(hash: Uint8Array): OperatorKey | null {
    let found: OperatorKey | null = null;
    // Compares all keys, each in constant time.
    for (const key of [this.#own, this.#environment, ...this.#stored]) {
      const own = key && this.#hashes.get(key);
      if (own && crypto.timingSafeEqual(own, hash)) found = key;
    }
    return found !== null && isInForce(found, this.#options.now()) ? found : null;
  }

  /** Returns the key with this id; null if it was revoked or has expired. */
  byId(id: string): OperatorKey | null {
    const found = [this.#environment, ...this.#stored].find((key) => key?.id === id) ?? null;
    return found !== null && isInForce(found, this.#options.now()) ? found : null;
  }

  /** Records the use of a key, on disk at most once an hour. */
  used(key: OperatorKey): void {
    const { store, now } = this.#options;
    const at = newLastUse(this.#lastUses.get(key.id) ?? key.last_used_at, now());
    if (at === null) return;
    this.#lastUses.set(key.id, at);
    if (key === this.#environment || key === this.#own) return;
    // A failed write, as on a full disk, must not fail the request.
    store.operatorKeys.noteUse(key.id, at).catch(() => {});
  }

  #unstored(secret: string, now: number, named: Pick<OperatorKey, "id" | "name">): OperatorKey {
    const hash = secretHash(secret);
    const key: OperatorKey = {
      ...named,
      role: "operator",
      source: "environment",
      hash: hash.toString("base64"),
      prefix: "",
      created_at: now,
      expires_at: null,
      last_used_at: null,
      shown_at: now,
    };
    this.#hashes.set(key, hash);
    return key;
  }
}
