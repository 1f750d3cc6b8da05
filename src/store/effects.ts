import { type Application, endOfPending } from "../domain/applications.ts";
import type { Topic } from "../domain/outcomes.ts";
import type { Store } from "../domain/store.ts";
import type { RemovedSubscriptions } from "../domain/subscriptions.ts";
import { lazily } from "../runtime/lazily.ts";

/*
 * The one way from a caller to the statements of the store. `effects` has an entry for each method of each noun:
 *
 * - "reads": runs on the connection of the calling thread. It sees every write that was acknowledged before it.
 * - "writes": runs in the engine's thread, which alone writes. Reads that only the engine makes run there too.
 * - "engine": runs in the engine's thread, and only the engine can call it, because it takes a callback.
 * - `Change`: a write that other parts of the server must know of. They are told after the commit and before the
 *   caller gets the result, so that what is acknowledged is visible everywhere.
 *
 * The live order of categories has no column: it is in the main thread alone, and is opened after the store.
 * `platform/platform-data.ts` makes all writes of what the platform reports, and updates the order.
 *
 * Replicas have no column: triggers of the database notify them with the commit, and `deliveries` tells the owner of an
 * endpoint, wherever that is.
 */

/** A write of which other parts of the server are told. */
interface Change<Args extends readonly unknown[], Result> {
  /**
   * Whether applications, grants or tokens that callers may have in a cache have changed; a function if that depends on
   * the result. After a failure they are taken as changed, because the change may have been stored.
   */
  readonly callers?: true | ((result: Result) => boolean);
  /** Tells the engine. */
  readonly deliveries?: (engine: DeliveryEffects, result: Result, ...args: Args) => void;
  /** Tells the engine after a failure, if the failed action may have stored a part of itself. */
  readonly interrupted?: (engine: DeliveryEffects, ...args: Args) => void;
  /** Further work of the call, once all have been told. It may fail: then the change is made nevertheless. */
  readonly afterwards?: (store: Pick<Nouns, "applications">, result: Result, ...args: Args) => Promise<void>;
}

/** What the engine does after a change. */
interface DeliveryEffects {
  /**
   * Takes deliveries back from memory. Null: the application was removed, or its state is unknown; it is looked up
   * again.
   */
  applicationChanged(id: string, application: Application | null): void;
  subscriptionsRemoved(removed: RemovedSubscriptions): void;
  /** Sends the deliveries that are due, without waiting for the endpoint's next time. */
  sendNow(applicationId: string): void;
  /** Looks for a new replay. */
  wakeReplays?(): void;
  /** Notes a change for open pages that watch a topic. */
  note?(topic: Topic, applicationIds: readonly string[]): void;
}

type Nouns = Omit<Store, "close">;

/** The effects of all methods of a noun: a method without an entry does not compile. */
type EffectsOf<Noun> = {
  readonly [Verb in keyof Noun]: Noun[Verb] extends (...args: infer Args) => Promise<infer Result>
    ? "reads" | "writes" | "engine" | Change<Args, Result>
    : never;
};

const changed = (engine: DeliveryEffects, id: string, application: Application | null): void => {
  engine.applicationChanged(id, application);
  engine.note?.("applications", [id]);
};

/** After a failure the change may be stored: the owner of the endpoint looks the application up again. */
const mayHaveChanged = (engine: DeliveryEffects, id: string): void => changed(engine, id, null);

const unsubscribed = (engine: DeliveryEffects, removed: RemovedSubscriptions): void => {
  engine.subscriptionsRemoved(removed);
  engine.note?.("subscriptions", [removed.application_id]);
};

const effects: { readonly [Noun in keyof Nouns]: EffectsOf<Nouns[Noun]> } = {
  users: {
    upsert: "writes",
    find: "reads",
    byIds: "reads",
    page: "reads",
    // Also removes the user's tokens.
    remove: {
      callers: true,
      deliveries(engine, removed) {
        for (const one of removed.subscriptions) unsubscribed(engine, one);
      },
    },
    search: "reads",
    tidySearch: "writes",
    exists: "reads",
  },
  categories: { upsert: "writes", page: "reads", remove: "writes", all: "reads", byIds: "reads" },
  channels: { upsert: "writes", page: "reads", list: "reads", remove: "writes", byIds: "reads" },
  livestreams: {
    upsert: "writes",
    replaceAll: "writes",
    endOthers: "writes",
    page: "reads",
    end: "writes",
    all: "reads",
    byChannels: "reads",
  },
  applications: {
    create: "writes",
    update: {
      callers: true,
      deliveries: (engine, updated, id) => changed(engine, id, updated),
      interrupted: mayHaveChanged,
      async afterwards(store, updated, id, _, now) {
        if (updated && endOfPending(updated) !== null) await store.applications.endRest(id, now);
      },
    },
    endRest: "writes",
    remove: {
      callers: true,
      deliveries(engine, _, id) {
        changed(engine, id, null);
        engine.note?.("subscriptions", [id]);
      },
      // An interrupted removal leaves the application disabled, or has removed it.
      interrupted: mayHaveChanged,
    },
    rotateClientSecret: { callers: true },
    rotateWebhookSecret: {
      callers: true,
      deliveries: (engine, updated, id) => changed(engine, id, updated),
      interrupted: mayHaveChanged,
    },
    find: "reads",
    subscribers: "reads",
    clientSecretHashes: "reads",
    secretsInForce: "reads",
    all: "reads",
    page: "reads",
  },
  tokens: {
    create: { callers: (endedOthers) => endedOthers },
    find: "reads",
    inspect: "reads",
    redeemCode: { callers: (result) => "refused" in result && result.refused === "reused" },
    refresh: {
      callers: (result) => ("refused" in result ? result.refused === "reused" : result.endedOthers),
    },
    revoke: { callers: (result) => result === "revoked" },
    ofApplication: "reads",
    removeById: { callers: (wasRemoved) => wasRemoved },
    removeOfApplication: { callers: true },
    noteUses: "writes",
    // Expired tokens are not cached.
    removeExpired: "writes",
  },
  loginRequests: { isAnswered: "reads", answer: "writes", redeem: "writes" },
  consents: {
    ofUser: "reads",
    revoke: {
      callers: true,
      deliveries: (engine, ids, _, id) => unsubscribed(engine, { application_id: id, ids }),
    },
  },
  subscriptions: {
    subscribe: {
      deliveries: (engine, _, { applicationId }) => engine.note?.("subscriptions", [applicationId]),
    },
    ofApplication: "reads",
    list: "reads",
    find: "reads",
    count: "reads",
    page: "reads",
    counts: "reads",
    remove: {
      deliveries: (engine, ids, id) => unsubscribed(engine, { application_id: id, ids }),
    },
  },
  // `delivery/publish.ts` calls these methods, and tells the dispatcher and open streams itself.
  events: { publish: "engine", publishAll: "engine", find: "reads" },
  eventTypes: { put: "writes", all: "reads", remove: "writes" },
  deliveries: {
    last: "reads",
    lastBefore: "reads",
    publishedUpTo: "reads",
    lastRemoved: "reads",
    streamed: "reads",
    releaseAll: "writes",
    pending: "writes",
    makeFarRetriesDue: "writes",
    claim: "writes",
    release: "writes",
    record: "writes",
    page: "reads",
    find: "reads",
    backlog: "reads",
    pendingOf: "reads",
    backlogOfAll: "reads",
    retry: { deliveries: (engine, retried) => engine.sendNow(retried.application_id) },
  },
  replays: {
    create: {
      deliveries(engine, created) {
        engine.wakeReplays?.();
        if (!created.dry_run) engine.sendNow(created.application_id);
      },
    },
    find: "reads",
    page: "reads",
    cancel: "writes",
    running: "writes",
    advance: "writes",
  },
  // The engine's own `enable` also wakes the endpoint.
  endpoints: { find: "reads", failing: "reads", dueAt: "reads", enable: "writes" },
  notices: {
    put: "writes",
    following: "reads",
    page: "reads",
    lastBefore: "reads",
    claim: "writes",
    prune: "writes",
  },
  audit: { add: "writes", count: "writes", page: "reads", prune: "writes" },
  statistics: {
    add: "writes",
    read: "reads",
    databaseBytes: "reads",
    kindSizes: "reads",
    connectionUse: "reads",
    prune: "writes",
  },
  requests: { add: "writes", of: "reads" },
  retention: { prune: "writes", trim: "writes", shrink: "writes" },
  idempotency: { begin: "writes", finish: "writes", release: "writes", removeExpired: "writes" },
  operatorKeys: {
    all: "reads",
    create: "writes",
    generate: "writes",
    markShown: "writes",
    endGenerated: "writes",
    reset: "writes",
    revoke: "writes",
    noteUse: "writes",
    beginSession: "writes",
    hasSession: "reads",
    endSession: "writes",
  },
  settings: { get: "reads", put: "writes", settle: "writes" },
  orders: { keep: "writes", find: "reads", prune: "writes" },
};

// A boundary: below, a method is one of any noun. The types of `effects` ensure that methods and entries fit.
type Method = (...args: unknown[]) => Promise<unknown>;
type Methods = Readonly<Record<string, Method>>;
type AnyChange = Change<readonly unknown[], unknown>;
type AnyEffects = Readonly<Record<string, Readonly<Record<string, string | AnyChange>>>>;

interface Way {
  /** The store whose connection belongs to the calling thread. */
  readonly reads: Store;
  /** The store of the engine's thread; `reads` itself in that thread. */
  readonly writes: Omit<Nouns, "events">;
  /** Called after each change of what callers may have in a cache. */
  readonly callersChanged?: (() => void) | undefined;
  /** Told of each change that concerns deliveries. In a server, only the engine's thread has it. */
  readonly deliveries?: DeliveryEffects | undefined;
}

/** Returns the store that works as `effects` says. A method is passed on as it is if none of `way` is told of it. */
export function withEffects(way: Way): Store {
  const isLinked = way.writes !== way.reads;
  const nounOf = (noun: string, entries: AnyEffects[string]) => {
    // A boundary: see `Method`.
    const reads = way.reads[noun as keyof Nouns] as unknown as Methods;
    const writes = way.writes[noun as keyof Way["writes"]] as unknown as Methods;
    const methods = Object.entries(entries).map(([verb, effect]) => {
      if (effect === "engine" && isLinked) return [verb, engineAlone];
      const method = (effect === "reads" || noun === "events" ? reads : writes)[verb] as Method;
      return [
        verb,
        typeof effect === "string" ? method : continuing(telling(method, effect, way), effect, way),
      ];
    });
    return Object.fromEntries(methods);
  };
  const makers = Object.entries(effects as unknown as AnyEffects).map(([noun, entries]) => {
    return [noun, () => nounOf(noun, entries)];
  });
  // The engine closes the store of a linked thread.
  const close = () => (isLinked ? async () => {} : way.reads.close);
  return lazily<Store>({ ...Object.fromEntries(makers), close });
}

const engineAlone: Method = async () => {
  throw new Error("Events are published by the engine, because callbacks cannot be sent to its thread");
};

/**
 * The statements of methods that `nounsOf` made. A method that tells calls the statement, not the method around it, so
 * that a call passes one function of this file.
 */
const statements = new WeakMap<Method, { readonly statement: Method; readonly explained: Explained }>();

/** Returns the method with its further work, which the main thread leaves to the engine's thread. */
function continuing(method: Method, { afterwards }: AnyChange, { reads, writes }: Way): Method {
  if (!afterwards || writes !== reads) return method;
  return async (...args) => {
    const result = await method(...args);
    // The store reports its faults itself.
    await afterwards(writes, result, ...args).catch(() => {});
    return result;
  };
}

/** Returns the method with what it tells after its commit and before its answer. */
function telling(method: Method, change: AnyChange, { deliveries, callersChanged }: Way): Method {
  const engine = change.deliveries && deliveries;
  const note = change.callers && callersChanged;
  if (!engine && !note) return method;
  const plain = { statement: method, explained: (error: unknown) => error };
  const { statement, explained } = statements.get(method) ?? plain;
  return async (...args) => {
    let isChanged = true;
    try {
      const result = await statement(...args);
      if (engine) change.deliveries?.(engine, result, ...args);
      isChanged = change.callers === true || (change.callers?.(result) ?? false);
      return result;
    } catch (error) {
      const failure = explained(error);
      if (engine) change.interrupted?.(engine, ...args);
      throw failure;
    } finally {
      if (isChanged) note?.();
    }
  };
}

/** Makes each noun of a store. */
export type Makers = { readonly [Noun in keyof Nouns]: () => Nouns[Noun] };

/** Converts an error of a method to the error that `Store` promises. */
type Explained = (error: unknown) => unknown;

/**
 * Makes each noun of a database, with its statements, on first use, because a start needs only a few.
 *
 * @param explained converts an error of a statement
 */
export function nounsOf(makers: Makers, explained: Explained): Nouns {
  const rejected = (error: unknown) => {
    throw explained(error);
  };
  const explaining = (noun: object) => {
    const methods = Object.entries(noun).map(([verb, statement]: [string, Method]) => {
      // Not an async function, which costs each read one more promise.
      const method: Method = (...args) => statement(...args).catch(rejected);
      statements.set(method, { statement, explained });
      return [verb, method];
    });
    return Object.fromEntries(methods);
  };
  // A boundary: the same nouns with the same methods, all of which return promises.
  const nouns = Object.entries(makers).map(([name, make]) => [name, () => explaining(make())]);
  return lazily<Nouns>(Object.fromEntries(nouns));
}
