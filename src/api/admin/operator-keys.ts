import { join } from "node:path";
import {
  isInForce,
  isUnshown,
  needsFirstKey,
  newLastUse,
  newOperatorKey,
  type OperatorKey,
} from "../../domain/operator-keys.ts";
import type { Store } from "../../domain/store.ts";
import { second } from "../../domain/time.ts";
import { newSecret, secretHash } from "../../domain/tokens.ts";
import { inTime } from "../../runtime/event-loop.ts";
import type { Log } from "../../runtime/log.ts";
import { pageCookie, sessionMs } from "../http/pages.ts";

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
/** The key of a command without a server in the audit log. */
export const thisProcess = { id: "command-line", name: "a command in the data directory" } as const;

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

/** Shows a new operator key once. */
export type ShowKey = (secret: string) => Promise<void>;

interface SettleOptions {
  readonly store: Pick<Store, "operatorKeys" | "settings">;
  readonly operatorKeys: OperatorKeys;
  /** null if a key cannot be shown; then none is created. */
  readonly show: ShowKey | null;
  readonly now: () => number;
  readonly log: Log;
}

/** Stored after the environment has set a key. From then on no start generates one. */
const wasSetSetting = "operator_key_was_set";

/**
 * Updates the operator keys once the server listens. The first start generates one and shows it; a later start does so
 * when an earlier one ended before showing it. A key from the environment revokes the generated one permanently.
 */
export async function settleOperatorKeys(options: SettleOptions): Promise<void> {
  const { store, operatorKeys, now, log } = options;
  const stored = await store.operatorKeys.all();
  const wasSet = (await store.settings.get(wasSetSetting)) !== null;
  if (operatorKeys.hasEnvironmentKey) {
    if (!wasSet) await store.settings.put(wasSetSetting, "true");
    if (stored.some(({ source }) => source === "generated")) await store.operatorKeys.endGenerated();
  } else if (options.show !== null && needsFirstKey(stored, wasSet)) {
    await makeFirstKey(options, options.show);
  }
  const at = now();
  const inForce = operatorKeys.list().filter(({ expires_at }) => expires_at === null || expires_at > at);
  const count = (role: string) => inForce.filter((key) => key.role === role).length;
  const counts = { operator: count("operator"), publisher: count("publisher"), reader: count("reader") };
  log.info("operator_keys", { environment: operatorKeys.hasEnvironmentKey, ...counts });
  if (counts.operator > 0) return;
  log.warn("no_operator_key", {
    reason: wasSet ? "ONAIR_ADMIN_KEY is no longer set, and no other key was created" : "none is valid",
    advice: options.show
      ? 'set ONAIR_ADMIN_KEY, or stop the server and run "onair admin-key reset --data DIR"'
      : 'run "onair admin-key reset" with the same ONAIR_DATABASE, or set ONAIR_ADMIN_KEY and start again',
  });
}

async function makeFirstKey({ store, operatorKeys, now }: SettleOptions, show: ShowKey): Promise<void> {
  const made = newOperatorKey({ name: "first start", role: "operator", source: "generated", now: now() });
  await store.operatorKeys.generate(made.key);
  await show(made.secret);
  await store.operatorKeys.markShown(made.key.id, now());
  await operatorKeys.load();
}

/** The file in the data directory that holds the key of the first start if there was no terminal to show it. */
const operatorKeyFile = "onair.admin-key";

/** Writes the key to a file that only its owner can read, and logs the path. */
export function keyFile(directory: string, log: Log): ShowKey {
  return async (secret) => {
    // Loaded on demand.
    const { syncDirectory, writePrivately } = await import("../../operations/backups/files.ts");
    const path = join(directory, operatorKeyFile);
    await writePrivately(path, new Blob([`${secret}\n`]).stream(), () => {});
    syncDirectory(directory);
    log.warn("operator_key_generated", { path, next: "take the key from this file, then delete the file" });
  };
}

interface OperatorSessionOptions {
  readonly store: Pick<Store, "operatorKeys">;
  readonly operatorKeys: Pick<OperatorKeys, "byId">;
  readonly now: () => number;
}

/**
 * Sessions of the console, kept in the store, so that every replica knows them. A session has the role of the operator
 * key that began it, and ends with it. The cookie names the key. The store has a hash of the cookie's secret and the
 * key's hash, so that a session does not continue with another key of the same id, as after `ONAIR_ADMIN_KEY` is
 * changed.
 */
export function operatorSessions({ store, operatorKeys, now }: OperatorSessionOptions) {
  const cookie = pageCookie("onair_console");
  /** Returns the session that a request of the page names; null without one. */
  const sessionOf = (request: Request): { readonly key: OperatorKey; readonly hash: Uint8Array } | null => {
    const value = cookie.read(request);
    const key = value === null ? null : operatorKeys.byId(value.slice(value.indexOf(".") + 1));
    return key && { key, hash: secretHash(value + key.hash) };
  };
  return {
    /** Begins a session and returns the cookie that carries it. */
    async begin(request: Request, key: OperatorKey): Promise<string> {
      const value = `${newSecret("onair_os_")}.${key.id}`;
      const at = now();
      const session = { hash: secretHash(value + key.hash), key_id: key.id, expires_at: at + sessionMs };
      await store.operatorKeys.beginSession(session, at);
      return cookie.set(request, value, sessionMs / 1000);
    },
    /** Returns the key of a request of the page; null without a valid session. */
    async keyOf(request: Request): Promise<OperatorKey | null> {
      const session = sessionOf(request);
      return session && (await store.operatorKeys.hasSession(session.hash, now())) ? session.key : null;
    },
    /** Ends the session of a request and returns the cookie that removes it from the browser. */
    async end(request: Request): Promise<string> {
      const session = sessionOf(request);
      if (session) await store.operatorKeys.endSession(session.hash);
      return cookie.clear(request);
    },
  };
}

export type OperatorSessions = ReturnType<typeof operatorSessions>;
