import type { Makers } from "../effects.ts";
import { applicationStore } from "./applications.ts";
import { auditStore } from "./audit.ts";
import { categoryStore } from "./categories.ts";
import type { Dialect } from "./dialect.ts";
import { endpointStore } from "./endpoints.ts";
import { eventTypeStore } from "./event-types.ts";
import { idempotencyStore } from "./idempotency.ts";
import { channelStore } from "./livestreams.ts";
import { noticeStore } from "./notices.ts";
import { operatorKeyStore } from "./operator-keys.ts";
import { requestStore } from "./requests.ts";
import { settingStore } from "./settings.ts";
import { consentStore, loginRequestStore, tokenStore } from "./tokens.ts";

/** Makers of the nouns that are the same for both databases, unless a database replaces them. */
export function commonNouns(db: Dialect) {
  return {
    applications: () => applicationStore(db),
    audit: () => auditStore(db),
    categories: () => categoryStore(db),
    channels: () => channelStore(db),
    consents: () => consentStore(db),
    endpoints: () => endpointStore(db),
    eventTypes: () => eventTypeStore(db),
    idempotency: () => idempotencyStore(db),
    loginRequests: () => loginRequestStore(db),
    notices: () => noticeStore(db),
    operatorKeys: () => operatorKeyStore(db),
    requests: () => requestStore(db),
    settings: () => settingStore(db),
    tokens: () => tokenStore(db),
  } satisfies Partial<Makers>;
}
