import { replacing } from "../domain/lazily.ts";
import type { ApplicationStore } from "../store/applications.ts";
import type { ConsentStore } from "../store/consents.ts";
import type { Store } from "../store/store.ts";
import type { TokenStore } from "../store/tokens.ts";
import type { UserStore } from "../store/users.ts";
import type { Changes } from "./changes.ts";

/** Whether a verb changes what callers are made of; where its result tells, a function of it. */
type Effect<Result> = "none" | "changes" | ((result: Result) => boolean);

/** Every verb has to be in the table: a new one does not compile before its effect is decided. */
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
  all: "none",
  page: "none",
};

const tokens: Effects<TokenStore> = {
  create: (endedOthers) => endedOthers,
  find: "none",
  inspect: "none",
  redeemCode: (result) => "refused" in result && result.refused === "reused",
  refresh: (result) => "refused" in result && result.refused === "reused",
  revoke: (result) => result === "revoked",
  ofApplication: "none",
  removeOfApplication: "changes",
  // What has expired is not remembered either.
  removeExpired: "none",
};

const consents: Effects<ConsentStore> = { ofUser: "none", revoke: "changes" };

const users: Effects<UserStore> = {
  upsert: "none",
  find: "none",
  page: "none",
  // With the tokens of the user.
  remove: "changes",
  search: "none",
  tidySearch: "none",
  exists: "none",
  count: "none",
};

/**
 * The store as everything but the engine uses it: whatever changes an application, or ends tokens, is noted in
 * `callers` after it is stored and before it is acknowledged. So nothing that was made of an application, such as a
 * remembered caller or an open event stream, outlives the change.
 */
export function notedStore(store: Store, callers: Changes): Store {
  return replacing(store, {
    applications: () => noted(store.applications, applications, callers),
    tokens: () => noted(store.tokens, tokens, callers),
    consents: () => noted(store.consents, consents, callers),
    users: () => noted(store.users, users, callers),
  });
}

type Verb = (...given: unknown[]) => Promise<unknown>;

function noted<Noun extends object>(noun: Noun, effects: Effects<Noun>, changes: Changes): Noun {
  // The types of the tables say what is lost here: each effect is one of its verb's result.
  const verbs = noun as Readonly<Record<string, Verb>>;
  const changing = Object.entries(effects as Readonly<Record<string, Effect<unknown>>>).flatMap(
    ([name, effect]) => (effect === "none" ? [] : [[name, noting(verbs[name] as Verb, effect, changes)]]),
  );
  return Object.assign(Object.create(noun), Object.fromEntries(changing));
}

/** Also where the verb fails: an answer that was lost on its way says nothing of what is stored. */
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
