import type { LoginAnswer, LoginRequest } from "../domain/authorizations.ts";

/**
 * Sign-ins that the platform has answered. Before that, a sign-in is only in its challenge. A row is kept until its
 * challenge expires, so that each challenge is answered once.
 */
export interface LoginRequestStore {
  /** Whether a challenge has an answer. */
  isAnswered(challengeHash: Uint8Array): Promise<boolean>;
  /**
   * Stores a request with the platform's answer. Rejects with `conflict` when the challenge has an answer, with
   * `not_found` when the application does not exist, and with `invalid_parameter` when the user does not exist.
   */
  answer(
    request: LoginRequest,
    answer: LoginAnswer,
    hashes: { readonly challenge: Uint8Array; readonly verifier: Uint8Array },
  ): Promise<void>;
  /**
   * Returns the request of a verifier, once and only to its own browser; null to any other. If the user consented, this
   * stores an authorization code with `codeHash`, and the consent if it is to be remembered.
   *
   * @param browserHashes the hashes of the browser's cookies
   */
  redeem(
    verifierHash: Uint8Array,
    browserHashes: readonly Uint8Array[],
    codeHash: Uint8Array,
    now: number,
  ): Promise<AnsweredLogin | null>;
}

/** A login request with the platform's answer. */
export interface AnsweredLogin extends Omit<LoginRequest, "browserHash" | "expiresAt"> {
  readonly answer: LoginAnswer;
}
