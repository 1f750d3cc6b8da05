import { lazily } from "../../runtime/lazily.ts";
import type { EventStore } from "../../store/events.ts";
import type { Store } from "../../store/store.ts";
import type { Remote } from "../../threads/contract.ts";
import type { EngineThread } from "../worker.ts";

/**
 * Returns the store of the main thread. The methods listed here read through a connection of this thread; all others
 * are called in the engine's thread. A read after a write sees it, because the write is acknowledged after its commit.
 */
export function sharedStore(reader: Store, engine: Remote<EngineThread["offers"]["store"]>): Store {
  return lazily<Store>({
    users: () => shared(reader.users, engine.users, ["find", "search", "exists", "count", "page"]),
    categories: () => shared(reader.categories, engine.categories, ["all", "byIds", "page"]),
    channels: () => shared(reader.channels, engine.channels, ["byIds", "page"]),
    livestreams: () => shared(reader.livestreams, engine.livestreams, ["all", "byChannels", "page"]),
    applications: () =>
      shared(reader.applications, engine.applications, [
        "find",
        "clientSecretHashes",
        "secretsInForce",
        "all",
        "page",
      ]),
    tokens: () => shared(reader.tokens, engine.tokens, ["find", "inspect", "ofApplication"]),
    loginRequests: () => shared(reader.loginRequests, engine.loginRequests, ["isAnswered"]),
    consents: () => shared(reader.consents, engine.consents, ["ofUser"]),
    subscriptions: () =>
      shared(reader.subscriptions, engine.subscriptions, ["ofApplication", "list", "find", "count", "page"]),
    events: () => unsharedEvents,
    eventTypes: () => shared(reader.eventTypes, engine.eventTypes, ["all"]),
    deliveries: () =>
      shared(reader.deliveries, engine.deliveries, [
        "page",
        "find",
        "backlog",
        "backlogOfAll",
        "last",
        "lastBefore",
        "publishedUpTo",
        "lastRemoved",
        "streamed",
      ]),
    replays: () => shared(reader.replays, engine.replays, ["find", "page"]),
    endpoints: () => shared(reader.endpoints, engine.endpoints, ["find", "failing"]),
    notices: () => shared(reader.notices, engine.notices, ["behind", "page", "lastBefore"]),
    audit: () => shared(reader.audit, engine.audit, ["page"]),
    statistics: () => shared(reader.statistics, engine.statistics, ["read", "databaseBytes", "kindSizes"]),
    retention: () => shared(reader.retention, engine.retention, []),
    idempotency: () => shared(reader.idempotency, engine.idempotency, []),
    operatorKeys: () => shared(reader.operatorKeys, engine.operatorKeys, ["all", "hasSession"]),
    settings: () => shared(reader.settings, engine.settings, ["get"]),
    orders: () => shared(reader.orders, engine.orders, ["find"]),
    // The engine closes the store.
    close: () => async () => {},
  });
}

/** Combines the methods of a noun: those in `here` of the reader, all others of the engine's thread. */
function shared<Noun extends object>(reader: Noun, engine: Noun, here: readonly (keyof Noun)[]): Noun {
  const names = Object.keys(reader) as (keyof Noun)[];
  const methods = names.map((name) => [name, (here.includes(name) ? reader : engine)[name]]);
  // A boundary: it has exactly the methods of the reader.
  return Object.fromEntries(methods) as Noun;
}

const unshared = async (): Promise<never> => {
  throw new Error("Events are published by the engine, because callbacks cannot be sent to its thread");
};
const unsharedEvents: EventStore = { publish: unshared, publishAll: unshared };
