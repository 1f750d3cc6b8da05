import { newId } from "../domain/ids.ts";
import type { Store } from "../store/store.ts";

/** The setting that holds the platform's Ed25519 key in PEM, made at the first start. */
export const signingKeySetting = "signing_key";

/** The id of the data, made when it is first needed; whatever is copied or restored from it has it, too. */
export const dataIdOf = async ({ settings }: Pick<Store, "settings">): Promise<string> =>
  (await settings.get("data_id")) ?? settings.settle("data_id", newId());

/** The secret that encrypts cursors, made when it is first needed. It stays, so that clients can go on. */
export async function cursorKeyOf({ settings }: Pick<Store, "settings">): Promise<string> {
  const known = await settings.get("cursor_key");
  if (known !== null) return known;
  const made = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url");
  return settings.settle("cursor_key", made);
}
