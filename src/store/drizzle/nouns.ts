import type { Store } from "../../domain/store.ts";
import { lazily } from "../../runtime/lazily.ts";
import { applicationStore } from "./applications.ts";
import { auditStore } from "./audit.ts";
import { consentStore, loginRequestStore } from "./authorizations.ts";
import { categoryStore } from "./categories.ts";
import type { Dialect } from "./dialect.ts";
import { endpointStore } from "./endpoints.ts";
import { eventTypeStore } from "./event-types.ts";
import { channelStore } from "./livestreams.ts";
import { noticeStore } from "./notices.ts";
import { operatorKeyStore } from "./operator-keys.ts";
import { idempotencyStore, settingStore } from "./settings.ts";
import { tokenStore } from "./tokens.ts";

type Nouns = Omit<Store, "close">;
type Makers = { readonly [Noun in keyof Nouns]: () => Nouns[Noun] };

/** Makers of the nouns that are the same for both databases. */
export function sharedNouns(db: Dialect) {
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
    settings: () => settingStore(db),
    tokens: () => tokenStore(db),
  } satisfies Partial<Makers>;
}

/**
 * Makes each noun, with its statements, on first use, because a start needs only a few.
 *
 * @param explained converts an error of a method to the one that the `Store` promises
 */
export function nounsOf(makers: Makers, explained: (error: unknown) => unknown): Nouns {
  const rejected = (error: unknown) => {
    throw explained(error);
  };
  const explaining = (noun: object) => {
    const verbs = Object.entries(noun).map(([verb, method]) => [
      verb,
      // Not an async function, which costs each read one more promise.
      (...args: unknown[]) => method(...args).catch(rejected),
    ]);
    return Object.fromEntries(verbs);
  };
  // A boundary: the same nouns with the same methods, all of which return promises.
  const nouns = Object.entries(makers).map(([name, make]) => [name, () => explaining(make())]);
  return lazily<Nouns>(Object.fromEntries(nouns));
}
