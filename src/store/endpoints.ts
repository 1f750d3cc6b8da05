import type { Endpoint } from "../domain/endpoints.ts";

/** How the endpoint of each application has answered so far. */
export interface EndpointStore {
  /** null for one to which nothing was sent yet. */
  find(applicationId: string): Promise<Endpoint | null>;
  /** Those that are failing or disabled. */
  failing(): Promise<Endpoint[]>;
  /**
   * Begins a new generation of an endpoint, which is neither failing nor disabled, and makes its retries due at `now`,
   * those first that are due soonest; some thousands at most. Gives the generation; null: the application is gone.
   */
  enable(applicationId: string, now: number): Promise<number | null>;
}
