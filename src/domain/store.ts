import type { ApplicationStore } from "./applications.ts";
import type { AuditStore } from "./audit.ts";
import type { CategoryStore } from "./categories.ts";
import type { DeliveryStore, EventStore, RetentionStore } from "./deliveries.ts";
import type { EndpointStore } from "./endpoints.ts";
import type { EventTypeStore } from "./events/catalogue.ts";
import type { IdempotencyStore } from "./idempotency.ts";
import { newId } from "./ids.ts";
import type { ChannelStore, LivestreamStore } from "./livestreams.ts";
import type { NoticeStore } from "./notices.ts";
import type { OperatorKeyStore } from "./operator-keys.ts";
import type { ReplayStore } from "./replays.ts";
import type { OrderStore } from "./replicas.ts";
import type { RequestStore } from "./requests.ts";
import type { StatisticStore } from "./statistics.ts";
import type { SubscriptionStore } from "./subscriptions.ts";
import { second } from "./time.ts";
import type { ConsentStore, LoginRequestStore, TokenStore } from "./tokens.ts";
import type { UserStore } from "./users.ts";

/**
 * All data of the server. When the promise of a method resolves, its effect is synced to disk and every later read sees
 * it. Each method is one atomic action, except `tokens.noteUses`, and removals and changes that end much: these take
 * short steps, and the object itself is removed last. When the disk is full or fails, a method rejects with
 * `unavailable`: the change may be stored, unless the error says `isNothingKept`. When a row would refer to an
 * application or user that does not exist (any more), it rejects with `ownerGone`, and that row is not stored.
 */
export interface Store {
  readonly users: UserStore;
  readonly categories: CategoryStore;
  readonly channels: ChannelStore;
  readonly livestreams: LivestreamStore;
  readonly applications: ApplicationStore;
  readonly tokens: TokenStore;
  readonly loginRequests: LoginRequestStore;
  readonly consents: ConsentStore;
  readonly subscriptions: SubscriptionStore;
  readonly events: EventStore;
  readonly eventTypes: EventTypeStore;
  readonly deliveries: DeliveryStore;
  readonly replays: ReplayStore;
  readonly endpoints: EndpointStore;
  readonly notices: NoticeStore;
  readonly audit: AuditStore;
  readonly statistics: StatisticStore;
  readonly requests: RequestStore;
  readonly retention: RetentionStore;
  readonly idempotency: IdempotencyStore;
  readonly operatorKeys: OperatorKeyStore;
  readonly settings: SettingStore;
  readonly orders: OrderStore;
  close(): Promise<void>;
}

/** Values that belong to the data, such as the signing key; not the server's settings (`server/settings/`). */
export interface SettingStore {
  get(key: string): Promise<string | null>;
  put(key: string, value: string): Promise<void>;
  /** Stores a value if there is none. Resolves to the stored value. */
  settle(key: string, value: string): Promise<string>;
}

/** The setting with the time since which sending is held, in ISO 8601. Sending is not held when it is "" or missing. */
export const heldSetting = "deliveries_held";

/** The setting with the platform's Ed25519 key in PEM, which the first start generates. */
export const signingKeySetting = "signing_key";

/** Returns the id of the data, generated on first use. Copies and restored backups share it. */
export const dataIdOf = async ({ settings }: Pick<Store, "settings">): Promise<string> =>
  (await settings.get("data_id")) ?? settings.settle("data_id", newId());

/**
 * Returns the secret that seals cursors and login challenges, generated on first use. It is stored, so that they
 * survive a restart and are valid at every replica.
 */
export async function sealingKeyOf({ settings }: Pick<Store, "settings">): Promise<string> {
  const known = await settings.get("sealing_key");
  if (known !== null) return known;
  const made = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url");
  return settings.settle("sealing_key", made);
}

/** The data directory or database cannot be used; the message says why and what to do. */
export class StoreError extends Error {
  override name = "StoreError";
  /** @param isMisuse whether the given directory or database is unsuitable, so that trying again cannot help */
  constructor(
    message: string,
    readonly isMisuse = false,
  ) {
    super(message);
  }
}

/**
 * Why the database of a running server cannot be used: its disk is full or fails, its data is damaged, its file was
 * replaced or removed, another process has taken its directory, its server cannot be reached, or a read or write of it
 * does not end.
 */
export type StorageFault = "full" | "failing" | "damaged" | "replaced" | "taken" | "unreachable" | "stalled";

/** What to do when the database of a running server no longer exists: the open files of the server have all data. */
export const saveBeforeStop =
  "If it no longer exists, save the data before the server stops: docs/operating.md has the commands";

/** A read or write of the storage that is in progress for longer than this has stalled. */
export const stalledAfterMs = 30 * second;

/** Called for each read or write that fails because of the storage. */
export type OnFault = (fault: StorageFault) => void;

/** Checks the storage, with a test write if `isTroubled`. Resolves to the fault, or to null. */
export type CheckStorage = (isTroubled: boolean) => Promise<StorageFault | null>;
