import type { Store } from "./store/store.ts";

/** The setting that holds the platform's Ed25519 key in PEM, made at the first start. */
export const signingKeySetting = "signing_key";

/** The secret that encrypts cursors, made when it is first needed. It stays, so that clients can go on. */
export async function cursorKeyOf({ settings }: Pick<Store, "settings">): Promise<string> {
  const known = await settings.get("cursor_key");
  if (known !== null) return known;
  const made = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url");
  return settings.settle("cursor_key", made);
}
