import { newId } from "../domain/ids.ts";
import type { Store } from "../store/store.ts";

/** The setting with the platform's Ed25519 key in PEM, which the first start generates. */
export const signingKeySetting = "signing_key";

/** Returns the id of the data, generated on first use. Copies and restored backups share it. */
export const dataIdOf = async ({ settings }: Pick<Store, "settings">): Promise<string> =>
  (await settings.get("data_id")) ?? settings.settle("data_id", newId());

/**
 * Returns the secret that encrypts cursors, generated on first use. It is stored, so that cursors survive a restart.
 */
export async function cursorKeyOf({ settings }: Pick<Store, "settings">): Promise<string> {
  const known = await settings.get("cursor_key");
  if (known !== null) return known;
  const made = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url");
  return settings.settle("cursor_key", made);
}
