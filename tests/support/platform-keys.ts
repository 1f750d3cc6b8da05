import { exportJWK, generateKeyPair, type JWK } from "jose";
import { testListener } from "./listener.ts";

export const issuer = "https://platform.example";
export const audience = "https://api.example";

/** A key pair of a platform, and the part of it that it publishes. */
export async function newKey(kid: string, alg = "ES256") {
  const pair = await generateKeyPair(alg, { extractable: true });
  return { ...pair, jwk: { ...(await exportJWK(pair.publicKey)), kid, alg, use: "sig" } };
}

/**
 * At the top of a file: a platform that publishes the keys of its access tokens, and counts how often they are fetched.
 */
export function platformKeys() {
  const platform = {
    keys: [] as JWK[],
    /** Answers instead of the keys. */
    respond: null as (() => Response) | null,
    fetches: 0,
  };
  const { url } = testListener(() => {
    platform.fetches++;
    return platform.respond?.() ?? Response.json({ keys: platform.keys });
  });
  const jwksUrl = `${url}/jwks`;
  const args = ["--jwks-url", jwksUrl, "--jwt-issuer", issuer, "--jwt-audience", audience];
  return Object.assign(platform, { jwksUrl, args });
}
