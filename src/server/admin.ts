import { AuditTrail } from "../api/admin/audit-trail.ts";
import type { AdminDeps } from "../api/admin/listener.ts";
import { findingsWatch } from "../api/admin/server.ts";
import { adminApp } from "../api/admin.ts";
import { Traffic } from "../api/http/context.ts";
import type { Engine } from "../delivery/engine.ts";
import { publishToEngine } from "../delivery/publish.ts";
import { DomainError } from "../domain/errors.ts";
import type { Ownership } from "../domain/replicas.ts";
import { newHistogram } from "../domain/statistics.ts";
import { dataIdOf, heldSetting, type Store } from "../domain/store.ts";
import { type RemovedSubscriptions, subscriptionLimits } from "../domain/subscriptions.ts";
import { newSecret } from "../domain/tokens.ts";
import {
  type BackupConfig,
  type BackupKeeper,
  externalBackups,
  openBackups,
} from "../operations/backups/backups.ts";
import type { AwsVariables } from "../operations/backups/destination.ts";
import { platformData } from "../platform/platform-data.ts";
import { createPublisher } from "../platform/publisher.ts";
import type { Log } from "../runtime/log.ts";
import { Stops } from "../runtime/services.ts";
import { noSpans, type PublishTraces } from "../runtime/tracing.ts";
import { withEffects } from "../store/effects.ts";
import type { DataLocation } from "../store/location.ts";
import { backupProgram } from "../thread-programs.ts";
import { type Memory, openMemory } from "./memory.ts";
import { storageAt } from "./storage-at.ts";

/*
 * The admin API of a server, and of a command on data that no server uses.
 */

/** The dependencies that `adminOf` makes, or takes from memory. */
type Made = keyof Memory | "data" | "publisher" | "trail";

interface AdminOptions extends Omit<AdminDeps, Made> {
  /** See `SnapshotEnding`; by default the default of the setting. */
  readonly confirmAbovePercent?: number;
  /** The time to live in seconds by event type, in place of the type's own. */
  readonly timeToLive?: Readonly<Record<string, number>>;
  readonly traces?: PublishTraces | null;
}

/** Makes the app of the admin API, with the parts that only this API changes. */
export function adminOf(memory: Memory, { confirmAbovePercent, timeToLive, traces, ...deps }: AdminOptions) {
  const { store, ranking, follower, catalogue, outcomes } = memory;
  const { engine, log, now } = deps;
  const data = platformData({
    store,
    ranking,
    now,
    follower,
    ...(confirmAbovePercent !== undefined && { confirmAbovePercent }),
  });
  const publisher = createPublisher(engine, {
    now,
    catalogue,
    ...(timeToLive && { timeToLive }),
    ...(traces && { traces }),
  });
  const trail = new AuditTrail({ store, log, now, changed: (topic) => outcomes.changed(topic) });
  const app = adminApp({ ...memory, ...deps, data, publisher, trail });
  return {
    app,
    data,
    publisher,
    trail,
    /** Notifies open consoles if the findings have changed. */
    lookForFindings: findingsWatch(deps.findings, outcomes),
  };
}

/** The origin of the URLs of an app without a listener. */
const inProcess = "http://in-process.invalid";

interface AppOnDataOptions {
  readonly location: DataLocation;
  readonly backups: BackupConfig;
  readonly aws: AwsVariables;
  readonly allowPrivateWebhooks: boolean;
  readonly log: Log;
}

/** The admin API of data that no server uses. */
interface AdminOnData {
  readonly origin: string;
  /** An operator key for this process alone. */
  readonly key: string;
  fetch(url: string, init: RequestInit): Promise<Response>;
  /** Stores what was audited, and closes the data. */
  close(): Promise<void>;
}

/** Opens the admin API of data that no server uses. Throws when the data cannot be opened. */
export async function openAdminOnData(options: AppOnDataOptions): Promise<AdminOnData> {
  const { location, log, allowPrivateWebhooks } = options;
  const stops = new Stops(log);
  try {
    const { store, ownership } = await (await storageAt(location)).open();
    const engine = idleEngine(store, ownership);
    stops.add("engine", (graceMs) => engine.stop(graceMs));
    const backups = await backupsOf(engine, options);
    stops.add("backups", () => backups.stop());
    const key = newSecret("onair_admin_");
    const memory = await openMemory({ engine, now: Date.now, ownKey: key });
    stops.add("memory", () => memory.stop());
    await memory.operatorKeys.load();
    const { app, trail } = adminOf(memory, {
      engine,
      backups,
      log,
      now: Date.now,
      facts: {
        settings: [],
        startedAt: Date.now(),
        subscriptionLimit: subscriptionLimits.defaultPerApplication,
        rateLimit: () => null,
        storage: () => null,
        kindSizes: async () => null,
        metrics: null,
      },
      findings: async () => [],
      allowPrivateWebhooks,
      whyNotReady: async () => null,
      isStopping: () => false,
      traffic: { public: new Traffic(), admin: new Traffic() },
      publicUrl: () => inProcess,
      adminUrl: () => inProcess,
    });
    const { fetch: answer } = app.compile();
    return {
      origin: inProcess,
      key,
      fetch: async (url, init) => answer(new Request(url, init)),
      async close() {
        await trail.flush().finally(() => stops.stop(0));
      },
    };
  } catch (error) {
    await stops.stop(0);
    throw error;
  }
}

async function backupsOf(
  { store }: Engine,
  { location, backups, aws, log }: AppOnDataOptions,
): Promise<BackupKeeper> {
  if ("database" in location) return externalBackups;
  return openBackups(location.directory, backups, {
    dataId: () => dataIdOf(store),
    isHeld: async () => Boolean(await store.settings.get(heldSetting)),
    program: backupProgram,
    now: Date.now,
    log,
    aws,
  });
}

/**
 * Returns an engine for data that no server runs on. It writes, and leaves deliveries to the next server. Servers may
 * deliver from the same PostgreSQL database: they are notified of what they have in memory.
 */
function idleEngine(store: Store, ownership: Pick<Ownership, "notify">): Engine {
  const deliveries = {
    applicationChanged: (application: string) => ownership.notify({ kind: "changed", application }),
    sendNow: (application: string) => ownership.notify({ kind: "requested", application }),
    subscriptionsRemoved({ application_id: application, ids }: RemovedSubscriptions) {
      if (ids.length > 0) ownership.notify({ kind: "unsubscribed", application, ids });
    },
  };
  const dispatcher = {
    reserve: () => ({ reserveSlot: () => false, end() {} }),
    outcomeUnknown() {},
  };
  return {
    started: Promise.resolve(),
    store: withEffects({ reads: store, writes: store, deliveries }),
    ...publishToEngine(store, dispatcher),
    observe() {},
    broadcast() {},
    async watchOutcomes() {},
    async enable(id) {
      // After a failure it may be stored nevertheless.
      await store.endpoints.enable(id, Date.now()).finally(() => deliveries.applicationChanged(id));
    },
    async test() {
      throw new DomainError("unavailable", "A webhook can be tested only while a server is running");
    },
    async notify() {},
    async stats() {
      // Loaded here, because it loads the sender of webhooks, and servers load this file.
      const { DeliveryCounter } = await import("../delivery/record.ts");
      return {
        inFlight: 0,
        queued: 0,
        unrecorded: 0,
        suspended: 0,
        isHeld: false,
        shares: null,
        connections: null,
        waiting: 0,
        counts: new DeliveryCounter().counts,
        eventLoopDelay: newHistogram([]),
        spans: noSpans,
        filtered: {},
      };
    },
    checkStorage: async () => null,
    stop: () => store.close(),
  };
}
