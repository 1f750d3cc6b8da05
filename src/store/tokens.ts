import type { CodePresentation } from "../domain/authorizations.ts";
import type { AskedGrant, Grant, ScopeName } from "../domain/tokens.ts";

/** Access tokens, refresh tokens and authorization codes, each by the hash of its secret. */
export interface TokenStore {
  /**
   * Keeps a new access token. Of those of an application itself only the newest are good: gives whether this one
   * ended others.
   *
   * @param familyId of what it ends with, besides its application and user; see `sessionFamily`
   */
  create(hash: Uint8Array, grant: AskedGrant, familyId?: string): Promise<boolean>;
  find(hash: Uint8Array): Promise<Grant | null>;
  /** An access or refresh token that still works, also within the grace of a refresh token. */
  inspect(hash: Uint8Array, now: number): Promise<TokenRecord | null>;
  /** Exchanges an authorization code for the first tokens of its family. */
  redeemCode(hash: Uint8Array, given: CodePresentation, tokens: NewTokens, now: number): Promise<Exchanged>;
  /**
   * Exchanges a refresh token for new ones. `scopes` are those of the access token, at most those of the refresh
   * token; null: all of them.
   */
  refresh(
    hash: Uint8Array,
    given: { readonly applicationId: string; readonly scopes: readonly ScopeName[] | null },
    tokens: NewTokens,
    now: number,
  ): Promise<Exchanged>;
  /** Revokes an access token, or a refresh token together with its family. `foreign`: another application's. */
  revoke(hash: Uint8Array, applicationId: string): Promise<"revoked" | "unknown" | "foreign">;
  /** The access tokens that are good at a time; the first to expire come first. */
  ofApplication(applicationId: string, now: number, limit: number): Promise<Grant[]>;
  /**
   * Access and refresh tokens and codes; returns how many access tokens were removed. There may be very many, so they are
   * removed in turns with other work, those first by which others could be had: who is interrupted has to begin again.
   */
  removeOfApplication(applicationId: string): Promise<number>;
  /** Removes some of the tokens, codes and login requests that have expired; true when none was left. */
  removeExpired(now: number): Promise<boolean>;
}

/** The tokens that a client gets when it exchanges a code or a refresh token: their hashes. */
export interface NewTokens {
  readonly accessHash: Uint8Array;
  readonly refreshHash: Uint8Array;
}

/**
 * What came of such an exchange. `refused`: the code or token is `invalid`, or it was used before (`reused`) and now
 * everything that came of it is revoked, or it never had these scopes (`exceeded`), or its family was refreshed too often
 * (`limited`; the token stays good).
 */
export type Exchanged =
  | { readonly grant: AskedGrant }
  | { readonly refused: "invalid" | "reused" | "exceeded" }
  | { readonly refused: "limited"; readonly retryAfterMs: number };

/** A token that still lives. */
export interface TokenRecord extends AskedGrant {
  readonly kind: "access_token" | "refresh_token";
}
