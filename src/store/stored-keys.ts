import { newId } from "../domain/ids.ts";
import type { Store } from "../domain/store.ts";

/** The setting with the platform's Ed25519 key in PEM, which the first start generates. */
export const signingKeySetting = "signing_key";

/** Returns the id of the data, generated on first use. Copies and restored backups share it. */
export const dataIdOf = async ({ settings }: Pick<Store, "settings">): Promise<string> =>
  (await settings.get("data_id")) ?? settings.settle("data_id", newId());

/**
 * Returns the secret that seals cursors and login challenges, generated on first use. It is stored, so that they
 * survive a restart and are valid at every replica.
 */
export async function sealingKeyOf({ settings }: Pick<Store, "settings">): Promise<string> {
  const known = await settings.get("sealing_key");
  if (known !== null) return known;
  const made = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url");
  return settings.settle("sealing_key", made);
}
