import { join } from "node:path";
import { needsFirstKey, newOperatorKey } from "../../domain/operator-keys.ts";
import type { Log } from "../../log/log.ts";
import type { Store } from "../../store/store.ts";
import type { OperatorKeys } from "./operator-keys.ts";

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
    const { syncDirectory, writePrivately } = await import("../../backups/private-file.ts");
    const path = join(directory, operatorKeyFile);
    await writePrivately(path, new Blob([`${secret}\n`]).stream(), () => {});
    syncDirectory(directory);
    log.warn("operator_key_generated", { path, next: "take the key from this file, then delete the file" });
  };
}
