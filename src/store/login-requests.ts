import type { LoginAnswer, LoginRequest } from "../domain/authorizations.ts";

/** Sign-ins that wait for the answer of the platform. */
export interface LoginRequestStore {
  /**
   * The browser is known again by the secret of its cookie, of which this is the hash. Beyond `loginLimits` the oldest
   * requests of the application, or of the `client`, which is the network of the browser, end.
   */
  create(
    challengeHash: Uint8Array,
    browserHash: Uint8Array,
    request: LoginRequest,
    client: string,
  ): Promise<void>;
  /** One that waits for its answer or has it; null: unknown, expired, or its browser has been back. */
  find(challengeHash: Uint8Array, now: number): Promise<LoginRequest | null>;
  /**
   * Keeps the platform's answer. Rejects with `not_found` where `find` finds none, with `conflict` where there is an
   * answer already, with `invalid_parameter` where the user does not exist.
   */
  answer(
    challengeHash: Uint8Array,
    answer: LoginAnswer,
    verifierHash: Uint8Array,
    now: number,
  ): Promise<void>;
  /**
   * Takes an answered request out, once and only for its browser. Where the user consented, `codeHash` becomes an
   * authorization code, and the consent is remembered if it shall be.
   */
  redeem(
    verifierHash: Uint8Array,
    browserHash: Uint8Array,
    codeHash: Uint8Array,
    now: number,
  ): Promise<AnsweredLogin | null>;
}

/** A login request that was answered, as its browser comes back. */
export interface AnsweredLogin extends LoginRequest {
  readonly answer: LoginAnswer;
}
