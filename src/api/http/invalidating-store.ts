import type { ApplicationStore } from "../../domain/applications.ts";
import type { Store } from "../../domain/store.ts";
import type { ConsentStore, TokenStore } from "../../domain/tokens.ts";
import type { UserStore } from "../../domain/users.ts";
import { replacing } from "../../runtime/lazily.ts";
import type { Changes } from "./access.ts";

/** Whether a method invalidates cached callers; a function if that depends on its result. */
type Effect<Result> = "none" | "changes" | ((result: Result) => boolean);

/** An entry for every method, so that a new method does not compile without one. */
type Effects<Noun> = {
  readonly [Verb in keyof Noun]: Noun[Verb] extends (...given: never[]) => Promise<infer Result>
    ? Effect<Result>
    : never;
};

const applications: Effects<ApplicationStore> = {
  create: "none",
  update: "changes",
  remove: "changes",
  rotateClientSecret: "changes",
  rotateWebhookSecret: "changes",
  find: "none",
  clientSecretHashes: "none",
  secretsInForce: "none",
  all: "none",
  page: "none",
};

const tokens: Effects<TokenStore> = {
  create: (endedOthers) => endedOthers,
  find: "none",
  inspect: "none",
  redeemCode: (result) => "refused" in result && result.refused === "reused",
  refresh: (result) => ("refused" in result ? result.refused === "reused" : result.endedOthers),
  revoke: (result) => result === "revoked",
  ofApplication: "none",
  removeOfApplication: "changes",
  // Expired tokens are not cached.
  removeExpired: "none",
};

const consents: Effects<ConsentStore> = { ofUser: "none", revoke: "changes" };

const users: Effects<UserStore> = {
  upsert: "none",
  find: "none",
  page: "none",
  // Also removes the user's tokens.
  remove: "changes",
  search: "none",
  tidySearch: "none",
  exists: "none",
  count: "none",
};

/**
 * Wraps the store for everything except the engine. A change of an application or its tokens is noted in `callers`
 * after it is stored and before it is acknowledged, so that no cached caller or open event stream outlives it.
 */
export function invalidatingStore(store: Store, callers: Changes): Store {
  return replacing(store, {
    applications: () => noted(store.applications, applications, callers),
    tokens: () => noted(store.tokens, tokens, callers),
    consents: () => noted(store.consents, consents, callers),
    users: () => noted(store.users, users, callers),
  });
}

type Verb = (...given: unknown[]) => Promise<unknown>;

function noted<Noun extends object>(noun: Noun, effects: Effects<Noun>, changes: Changes): Noun {
  // The cast loses the relation of results and effects, which the types of the tables ensure.
  const verbs = noun as Readonly<Record<string, Verb>>;
  const changing = Object.entries(effects as Readonly<Record<string, Effect<unknown>>>).flatMap(
    ([name, effect]) => (effect === "none" ? [] : [[name, noting(verbs[name] as Verb, effect, changes)]]),
  );
  return Object.assign(Object.create(noun), Object.fromEntries(changing));
}

/** Wraps a method. If it fails, the change is noted as well, because it may have been stored. */
function noting(verb: Verb, effect: Exclude<Effect<unknown>, "none">, changes: Changes): Verb {
  return async (...given) => {
    let isChanged = true;
    try {
      const result = await verb(...given);
      isChanged = effect === "changes" || effect(result);
      return result;
    } finally {
      if (isChanged) changes.note();
    }
  };
}
