import type { Consent } from "../domain/authorizations.ts";

/** What users have allowed applications to do. */
export interface ConsentStore {
  ofUser(userId: number): Promise<Consent[]>;
  /**
   * Ends everything that the application has of the user: consent, codes, tokens, and subscriptions, whose ids it
   * gives.
   */
  revoke(userId: number, applicationId: string, now: number): Promise<string[]>;
}
