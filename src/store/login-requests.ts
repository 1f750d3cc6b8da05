import type { LoginAnswer, LoginRequest } from "../domain/authorizations.ts";

/** Sign-ins that wait for the platform's answer. */
export interface LoginRequestStore {
  /**
   * Stores a request. Above `loginLimits` the oldest requests of the application, or of the client, end.
   *
   * @param browserHash hash of the secret in the cookie by which the browser is recognized when it returns
   * @param client the network of the browser
   */
  create(
    challengeHash: Uint8Array,
    browserHash: Uint8Array,
    request: LoginRequest,
    client: string,
  ): Promise<void>;
  /** A request with or without its answer; null when it is unknown, expired or already redeemed. */
  find(challengeHash: Uint8Array, now: number): Promise<LoginRequest | null>;
  /**
   * Stores the platform's answer. Rejects with `not_found` for a request that `find` does not return, with `conflict`
   * when it is already answered, and with `invalid_parameter` when the user does not exist.
   */
  answer(
    challengeHash: Uint8Array,
    answer: LoginAnswer,
    verifierHash: Uint8Array,
    now: number,
  ): Promise<void>;
  /**
   * Removes an answered request and returns it, once and only to its own browser. If the user consented, this stores an
   * authorization code with `codeHash`, and the consent if it is to be remembered.
   */
  redeem(
    verifierHash: Uint8Array,
    browserHash: Uint8Array,
    codeHash: Uint8Array,
    now: number,
  ): Promise<AnsweredLogin | null>;
}

/** A login request with the platform's answer. */
export interface AnsweredLogin extends LoginRequest {
  readonly answer: LoginAnswer;
}
