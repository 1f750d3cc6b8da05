import type { Consent } from "../domain/authorizations.ts";

/** The scopes that users have granted to applications. */
export interface ConsentStore {
  ofUser(userId: number): Promise<Consent[]>;
  /**
   * Ends everything that the application has been granted by the user: consent, codes, tokens and subscriptions.
   * Resolves to the ids of the subscriptions.
   */
  revoke(userId: number, applicationId: string, now: number): Promise<string[]>;
}
