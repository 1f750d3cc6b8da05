import type { Endpoint } from "../domain/endpoints.ts";

/** The state of each application's endpoint. */
export interface EndpointStore {
  /** null when nothing was sent to it yet. */
  find(applicationId: string): Promise<Endpoint | null>;
  /** Endpoints that are failing or disabled. */
  failing(): Promise<Endpoint[]>;
  /**
   * Begins a new generation of an endpoint, neither failing nor disabled, and makes its retries due at `now` (the next
   * 10,000 of them; later ones keep their schedule). Resolves to the generation, or to null when the application is
   * gone.
   */
  enable(applicationId: string, now: number): Promise<number | null>;
}
