/** The setting that holds the platform's Ed25519 key in PEM, made at the first start. */
export const signingKeySetting = "signing_key";
