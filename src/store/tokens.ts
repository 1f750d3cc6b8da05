import type { CodePresentation } from "../domain/authorizations.ts";
import type { AskedGrant, Grant, ScopeName } from "../domain/tokens.ts";

/** Access tokens, refresh tokens and authorization codes, identified by the hashes of their secrets. */
export interface TokenStore {
  /**
   * Stores a new access token. An application keeps only its newest `appTokensKept` tokens without a user. Resolves to
   * whether older ones were removed.
   *
   * @param familyId the family that the token is revoked with; see `sessionFamily`
   */
  create(hash: Uint8Array, grant: AskedGrant, familyId?: string): Promise<boolean>;
  find(hash: Uint8Array): Promise<Grant | null>;
  /**
   * A valid access or refresh token; null for any other. A refresh token stays valid for a grace period after its use.
   */
  inspect(hash: Uint8Array, now: number): Promise<TokenRecord | null>;
  /** Exchanges an authorization code for the first tokens of its family. */
  redeemCode(hash: Uint8Array, given: CodePresentation, tokens: NewTokens, now: number): Promise<Exchanged>;
  /**
   * Exchanges a refresh token for new tokens. The first exchange of a token ends the grace of its parent, and its
   * siblings with their access tokens. `scopes` are those of the access token; null for all of the refresh token.
   */
  refresh(
    hash: Uint8Array,
    given: { readonly applicationId: string; readonly scopes: readonly ScopeName[] | null },
    tokens: NewTokens,
    now: number,
  ): Promise<Exchanged>;
  /** Revokes an access token, or a refresh token and its family. `foreign`: the token is another application's. */
  revoke(hash: Uint8Array, applicationId: string): Promise<"revoked" | "unknown" | "foreign">;
  /** The valid access tokens of an application, ordered by expiry. */
  ofApplication(applicationId: string, now: number, limit: number): Promise<Grant[]>;
  /**
   * Removes the access tokens, refresh tokens and codes of an application. Resolves to the number of access tokens.
   * There may be very many, so this takes several transactions, refresh tokens first because they could get new access
   * tokens. If it is interrupted, the remaining tokens stay valid until it is called again.
   */
  removeOfApplication(applicationId: string): Promise<number>;
  /** Removes some expired tokens, codes and login requests. Resolves to true when none is left. */
  removeExpired(now: number): Promise<boolean>;
}

/** Hashes of the tokens that a client gets for a code or a refresh token. */
export interface NewTokens {
  readonly accessHash: Uint8Array;
  readonly refreshHash: Uint8Array;
}

/**
 * The result of an exchange. Reasons for a refusal: the code or token is `invalid`; it was used before (`reused`), and
 * its family is now revoked; it does not have all of the wanted scopes (`exceeded`); its family was refreshed too often
 * (`limited`), and the token stays valid.
 */
export type Exchanged =
  /** `endedOthers`: other access tokens are revoked. */
  | { readonly grant: AskedGrant; readonly endedOthers: boolean }
  | { readonly refused: "invalid" | "reused" | "exceeded" }
  | { readonly refused: "limited"; readonly retryAfterMs: number };

/** A valid token with its kind. */
export interface TokenRecord extends AskedGrant {
  readonly kind: "access_token" | "refresh_token";
}
