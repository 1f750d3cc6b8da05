import { receives } from "../domain/applications.ts";
import type { Retention } from "../domain/deliveries.ts";
import { noReceiver } from "../domain/delivery-log.ts";
import { ownerGone } from "../domain/errors.ts";
import { replacing } from "../domain/lazily.ts";
import { hour, minute, second } from "../domain/time.ts";
import type { Log } from "../log.ts";
import type { ApplicationStore } from "../store/applications.ts";
import { storageFaultOf } from "../store/sqlite/database/faults.ts";
import type { DirectoryLock } from "../store/sqlite/database/lock.ts";
import { databaseIdentity, lookAtStorage } from "../store/sqlite/database/storage-check.ts";
import { type OnFault, openStore } from "../store/sqlite/store.ts";
import type { Store } from "../store/store.ts";
import { pause, repeating, type Service, supervise } from "../supervisor.ts";
import { version } from "../version.ts";
import { createSender } from "../webhooks/client/sender.ts";
import { createDispatcher, type Dispatcher, type Standing } from "../webhooks/dispatcher.ts";
import { type Publishing, publishing } from "../webhooks/publisher.ts";
import { replaying } from "../webhooks/replays.ts";
import { type Sample, type SampleExchange, sampleLimits, sendSample } from "../webhooks/sample.ts";
import { newSigningKey, readSigningKey } from "../webhooks/signature.ts";
import { signingKeySetting } from "./setting.ts";
import type { CheckStorage } from "./storage-watch.ts";

/** What the engine needs of the settings. */
export interface EngineSettings {
  readonly data: string;
  readonly allowPrivateWebhooks: boolean;
  /** The URL of the egress proxy; null: none. */
  readonly webhookProxy: string | null;
  /** Deliveries that may be under way to an endpoint at once, unless its application says so. */
  readonly webhookConcurrency: number;
  /** Connections that deliveries may have in all. */
  readonly webhookConnections: number;
  readonly retention: Retention;
  /** The time allowed for an attempt, instead of the sender's own. */
  readonly attemptTimeoutMs?: number | undefined;
}

/** Everything that writes and delivers: the store, the dispatcher, retention. */
export interface Engine {
  /**
   * Starts it, unless it does so by itself. Settles when it writes and delivers, or could not be started; what is asked
   * of it before that waits.
   */
  start(): Promise<void>;
  readonly store: Store;
  readonly publish: Publishing["publish"];
  readonly publishAll: Publishing["publishAll"];
  /** Sends to a disabled or failing endpoint again. */
  enable(applicationId: string): Promise<void>;
  /** Has deliveries of an application looked at that may be due now. */
  wake(applicationId: string): Promise<void>;
  /** Sends a sample to the webhook of an application; rejects with `conflict` where there is none. */
  test(applicationId: string, sample: Sample): Promise<SampleExchange>;
  standing(): Promise<Standing>;
  /** Looks at the storage, and writes to it where it `isTroubled`; gives what is wrong with it. */
  readonly checkStorage: CheckStorage;
  /** Tells from now on which applications have something new on their event stream. */
  onStreamed(listener: StreamedListener): void;
  /** Lets attempts under way finish for up to `graceMs`, then closes everything. */
  stop(graceMs: number): Promise<void>;
}

export type StreamedListener = (applicationIds: readonly string[]) => void;

export interface EngineOptions {
  readonly settings: EngineSettings;
  readonly log: Log;
  readonly now: () => number;
  /** A clock that nobody sets. */
  readonly steady: () => number;
  readonly random: () => number;
  /** The lock of the data directory, where it is locked already; closed with the engine. */
  readonly lock?: DirectoryLock;
  /** Called for each read or write that finds that the storage cannot be used. */
  readonly onFault?: OnFault;
}

/** When the storage was last written to, to see whether it can be. */
const checkedSetting = "storage_checked_at";

/** What is cleaned up in steps lets others work for so long after each, and begins anew so long after the last. */
const cleaningStepMs = 5;
const cleaningEveryMs = minute;

/** The same for the search index, whose steps take 1 to 3 ms: some 20 seconds for a million users. */
const tidyStepMs = 20;
const tidyEveryMs = 10 * second;

/** Opens the store and starts to deliver. Throws when the data directory cannot be used. */
export async function startEngine(options: EngineOptions): Promise<Engine> {
  const { settings, log, now, steady, random, lock, onFault } = options;
  const store = openStore(settings.data, lock, onFault);
  const identity = databaseIdentity(settings.data);
  try {
    const signingKey = readSigningKey(await signingKeyOf(store));
    const allowPrivate = settings.allowPrivateWebhooks;
    const proxy = settings.webhookProxy ?? undefined;
    const sending = {
      allowPrivate,
      userAgent: `onair/${version}`,
      now,
      proxy,
      timeoutMs: settings.attemptTimeoutMs,
      connections: settings.webhookConnections,
    };
    const sender = createSender(sending);
    const stopping = new AbortController();
    const receiving = replacing(store, { applications: () => receivingOnly(store) });
    const dispatcher = createDispatcher({
      store: receiving,
      sender,
      signingKey,
      log,
      now,
      steady,
      random,
      concurrency: settings.webhookConcurrency,
      connections: settings.webhookConnections,
    });
    const services = supervise(
      [
        { name: "dispatcher", run: (signal) => dispatcher.run(signal) },
        inSteps("expired tokens", () => store.tokens.removeExpired(now())),
        repeating("idempotency keys", hour, async () => {
          await store.idempotency.removeExpired(now());
        }),
        inSteps("retention", () => store.retention.prune(settings.retention, now())),
        replaying(store, dispatcher, now),
        tidying(store),
      ],
      log,
    );
    let listener: StreamedListener = () => {};
    return {
      async start() {},
      store: watched(store, dispatcher),
      ...publishing(store, dispatcher, (ids) => listener(ids)),
      onStreamed(told) {
        listener = told;
      },
      enable: (id) => dispatcher.enable(id),
      wake: async (id) => dispatcher.wake(id),
      async test(id, sample) {
        const application = await receiving.applications.find(id);
        if (!application) throw (await store.applications.find(id)) ? noReceiver() : ownerGone();
        // A sender of its own makes a new connection, whose every stage is then timed.
        const fresh = createSender({ ...sending, ...sampleLimits });
        const by = { sender: fresh, signingKey, now: now(), isProxied: proxy !== undefined };
        return sendSample(by, application, sample, stopping.signal).finally(fresh.close);
      },
      standing: async () => dispatcher.standing,
      async checkStorage(isTroubled) {
        const fault = lookAtStorage(settings.data, identity, isTroubled);
        if (fault !== null || !isTroubled) return fault;
        const written = store.settings.put(checkedSetting, new Date(now()).toISOString());
        return written.then(
          () => null,
          (error) => storageFaultOf(error) ?? "failing",
        );
      },
      async stop(graceMs) {
        stopping.abort();
        const cutOff = setTimeout(() => sender.close(), graceMs);
        await services.stop();
        clearTimeout(cutOff);
        sender.close();
        await store.close();
      },
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function signingKeyOf(store: Store): Promise<string> {
  const known = await store.settings.get(signingKeySetting);
  if (known !== null) return known;
  const made = newSigningKey();
  await store.settings.put(signingKeySetting, made);
  return made;
}

/** Removes what need not be kept any more, a little in each step; the last one of a pass gives true. */
function inSteps(name: string, step: () => Promise<boolean>): Service {
  return {
    name,
    async run(signal) {
      while (!signal.aborted) {
        const isDone = await step();
        await pause(isDone ? cleaningEveryMs : cleaningStepMs, signal);
      }
    },
  };
}

/** Tidies the search index in small steps, once no user has changed for a while. */
function tidying(store: Store): Service {
  return {
    name: "search index",
    async run(signal) {
      await pause(tidyEveryMs, signal);
      while (!signal.aborted) {
        const hasMore = await store.users.tidySearch();
        await pause(hasMore ? tidyStepMs : tidyEveryMs, signal);
      }
    },
  };
}

/** The applications as the dispatcher sees them: one that receives nothing is to it as one that is gone. */
function receivingOnly({ applications }: Store): ApplicationStore {
  return {
    ...applications,
    async find(id) {
      const application = await applications.find(id);
      return application && receives(application) ? application : null;
    },
  };
}

/** The store, with the dispatcher told of what concerns deliveries under way before the change is acknowledged. */
export function watched(
  store: Store,
  dispatcher: Pick<Dispatcher, "applicationChanged" | "subscriptionsRemoved" | "hurry">,
): Store {
  return replacing(store, {
    applications: () => ({
      ...store.applications,
      async update(id, changes, now) {
        const changed = await store.applications.update(id, changes, now);
        dispatcher.applicationChanged(id, changed);
        return changed;
      },
      async rotateWebhookSecret(id, secret, rotation) {
        const changed = await store.applications.rotateWebhookSecret(id, secret, rotation);
        dispatcher.applicationChanged(id, changed);
        return changed;
      },
      async remove(id, now) {
        const removed = await store.applications.remove(id, now);
        dispatcher.applicationChanged(id, null);
        return removed;
      },
    }),
    users: () => ({
      ...store.users,
      async remove(id, now) {
        const removed = await store.users.remove(id, now);
        removed.subscriptions.forEach(dispatcher.subscriptionsRemoved);
        return removed;
      },
    }),
    consents: () => ({
      ...store.consents,
      async revoke(userId, applicationId, now) {
        const ids = await store.consents.revoke(userId, applicationId, now);
        dispatcher.subscriptionsRemoved({ application_id: applicationId, ids });
        return ids;
      },
    }),
    deliveries: () => ({
      ...store.deliveries,
      async retry(scope, id, now) {
        const retried = await store.deliveries.retry(scope, id, now);
        dispatcher.hurry(retried.application_id);
        return retried;
      },
    }),
    subscriptions: () => ({
      ...store.subscriptions,
      async remove(applicationId, ids, now, userId) {
        const removed = await store.subscriptions.remove(applicationId, ids, now, userId);
        dispatcher.subscriptionsRemoved({ application_id: applicationId, ids: removed });
        return removed;
      },
    }),
  });
}
