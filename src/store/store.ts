import type { ApplicationStore } from "./applications.ts";
import type { CategoryStore } from "./categories.ts";
import type { ChannelStore } from "./channels.ts";
import type { ConsentStore } from "./consents.ts";
import type { DeliveryStore } from "./deliveries.ts";
import type { EndpointStore } from "./endpoints.ts";
import type { EventTypeStore } from "./event-types.ts";
import type { EventStore } from "./events.ts";
import type { IdempotencyStore } from "./idempotency.ts";
import type { LivestreamStore } from "./livestreams.ts";
import type { LoginRequestStore } from "./login-requests.ts";
import type { AuditStore } from "./operations/audit.ts";
import type { NoticeStore } from "./operations/notices.ts";
import type { StatisticStore } from "./operations/statistics.ts";
import type { OperatorKeyStore } from "./operator-keys.ts";
import type { ReplayStore } from "./replays.ts";
import type { OrderStore } from "./replicas/orders.ts";
import type { RetentionStore } from "./retention.ts";
import type { SettingStore } from "./settings.ts";
import type { SubscriptionStore } from "./subscriptions.ts";
import type { TokenStore } from "./tokens.ts";
import type { UserStore } from "./users.ts";

/**
 * All data of the server. Each method is one atomic action: when its promise resolves, its effect is synced to disk and
 * every later read sees it. When the disk is full or fails, it rejects with `unavailable`. When a row would refer to an
 * application or user that does not exist (any more), it rejects with `ownerGone`. In both cases nothing was changed.
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
  readonly retention: RetentionStore;
  readonly idempotency: IdempotencyStore;
  readonly operatorKeys: OperatorKeyStore;
  readonly settings: SettingStore;
  readonly orders: OrderStore;
  close(): Promise<void>;
}
