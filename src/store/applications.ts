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
   * Changes these fields and gives the application; without a URL, or disabled, its pending deliveries are canceled.
   * With another URL its endpoint is of a new generation, as by `endpoints.enable`. Rejects with `locked` where its
   * developer may not change one of the fields.
   *
   * @param by who changes it; the operator unless given
   */
  update(
    id: string,
    changes: ApplicationChanges,
    now: number,
    by?: "operator" | "developer",
  ): Promise<Application | null>;
  /**
   * With its tokens and subscriptions; its pending deliveries are canceled. Whether there was one. Its tokens may be very many:
   * it is disabled until they are gone.
   */
  remove(id: string, now: number): Promise<boolean>;
  /** Replaces the client secret; see `retire`, which may throw. */
  rotateClientSecret(id: string, secret: HashedSecret, rotation: Rotation): Promise<Application | null>;
  /** Replaces the webhook secret; see `retire`, which may throw. */
  rotateWebhookSecret(id: string, secret: string, rotation: Rotation): Promise<Application | null>;
  find(id: string): Promise<Application | null>;
  /** Of all client secrets that are good at a time; none for one that does not exist, is disabled or public. */
  clientSecretHashes(id: string, now: number): Promise<Uint8Array[]>;
  /** The secrets that are good at a time, without themselves, each kind the newest first; none where there is no such application. */
  secretsInForce(id: string, now: number): Promise<SecretInForce[]>;
  all(): Promise<Application[]>;
  /** By ascending id, those behind `after`; "" begins. */
  page(after: string, limit: number, filter?: ApplicationFilter): Promise<Application[]>;
}
