import type {
  Application,
  ApplicationChanges,
  ApplicationFilter,
  HashedSecret,
  NewApplication,
  Rotation,
  SecretInForce,
} from "../domain/applications.ts";

/** Applications of developers, with their secrets. */
export interface ApplicationStore {
  create(application: NewApplication): Promise<void>;
  /**
   * Changes these fields and returns the application. Its pending deliveries are canceled when it no longer receives
   * any, and become `delivered` when it now uses only its event stream. Another URL, or `delivery: "stream"`, begins a
   * new generation of its endpoint, as `endpoints.enable` does. Rejects with `locked` when a developer may not change a
   * field, and with `invalid_parameter` as `changedWebhookHeaders` does.
   *
   * @param by the person who changes it; the operator by default
   */
  update(
    id: string,
    changes: ApplicationChanges,
    now: number,
    by?: "operator" | "developer",
  ): Promise<Application | null>;
  /**
   * Removes an application with its tokens and subscriptions, and cancels its pending deliveries. Resolves to false
   * when there is none. It may have very many tokens, so it is disabled first and then loses them in several
   * transactions.
   */
  remove(id: string, now: number): Promise<boolean>;
  /** Replaces the client secret. Rejects with `conflict` as `retire` does. */
  rotateClientSecret(id: string, secret: HashedSecret, rotation: Rotation): Promise<Application | null>;
  /** Replaces the webhook secret. Rejects with `conflict` as `retire` does. */
  rotateWebhookSecret(id: string, secret: string, rotation: Rotation): Promise<Application | null>;
  find(id: string): Promise<Application | null>;
  /** Hashes of all valid client secrets. Empty for an application that does not exist, is disabled or is public. */
  clientSecretHashes(id: string, now: number): Promise<Uint8Array[]>;
  /** The valid secrets without their values, each kind newest first. Empty when there is no such application. */
  secretsInForce(id: string, now: number): Promise<SecretInForce[]>;
  all(): Promise<Application[]>;
  /** The next applications by ascending id, starting after `after` ("" for the first page). */
  page(after: string, limit: number, filter?: ApplicationFilter): Promise<Application[]>;
}
