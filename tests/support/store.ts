import { Database } from "bun:sqlite";
import { join } from "node:path";
import { SQL } from "bun";
import { newWebhookSecret } from "../../src/delivery/signature.ts";
import type { NewApplication } from "../../src/domain/applications.ts";
import {
  type AttemptResult,
  type DeliveryFilter,
  type DeliveryRecord,
  type DueDelivery,
  everything,
  type NewEvent,
} from "../../src/domain/deliveries.ts";
import { newId } from "../../src/domain/ids.ts";
import type { Store } from "../../src/domain/store.ts";
import { isoTime } from "../../src/domain/time.ts";
import { userFrom } from "../../src/domain/users.ts";
import { openPostgresStore } from "../../src/postgres/store.ts";
import { readDatabaseUrl } from "../../src/store/location.ts";
import { openReader, openStore } from "../../src/store/sqlite/store.ts";
import { afterTests, afterThisTest } from "./after-tests.ts";
import { databaseFor, emptyDatabase } from "./postgres.ts";
import { giveTables, isOnPostgres, ownDirectory, temporaryDirectory } from "./server.ts";

/** A test's store. */
export interface TestStore {
  readonly store: Store;
  /** Closes and reopens the store, like a restart. It claims nothing before `releaseAll`. */
  reopen(): Promise<Store>;
  /** A second connection, like that of a reader thread. */
  reader(): Promise<Store>;
}

/**
 * In `beforeEach` or a test: an empty store, in PostgreSQL if the tests run on that, that may claim deliveries. Closed
 * and removed after the test.
 */
export function ownStore(): Promise<TestStore> {
  return openedUntil(afterThisTest);
}

/** At the top of a file: an empty store, closed and removed after its tests. */
export function testStore(): Promise<TestStore> {
  return openedUntil(afterTests);
}

/** The same for a part of a test. */
export async function withStore(work: (opened: TestStore) => Promise<void>): Promise<void> {
  const undoing: (() => Promise<unknown>)[] = [];
  const opened = await openedUntil((undo) => undoing.push(undo));
  await work(opened).finally(() => Promise.all(undoing.map((undo) => undo())));
}

async function openedUntil(after: Opening["after"]): Promise<TestStore> {
  if (isOnPostgres) {
    const { url, drop: remove } = await emptyDatabase();
    const open = () => openPostgresStore(readDatabaseUrl(url), { connections: 4 });
    return opened({ open, read: open, remove, after });
  }
  const { path, remove } = temporaryDirectory();
  giveTables(path);
  return opened({ open: async () => openStore(path), read: async () => openReader(path), remove, after });
}

interface Opening {
  open(): Promise<Store>;
  read(): Promise<Store>;
  remove(): unknown;
  after(undo: () => Promise<unknown>): void;
}

async function opened({ open, read, remove, after }: Opening): Promise<TestStore> {
  let store = await open();
  await store.deliveries.releaseAll();
  const readers: Store[] = [];
  after(async () => {
    for (const one of [...readers, store]) await one.close();
    await remove();
  });
  return {
    store,
    async reopen() {
      await store.close();
      store = await open();
      return store;
    },
    async reader() {
      const reader = await read();
      readers.push(reader);
      return reader;
    },
  };
}

/** All rows of the delivery log. */
export const wholeLog: DeliveryFilter = {
  ...everything,
  subscription_id: null,
  event_id: null,
  status: null,
  type: null,
  after: null,
  before: null,
};

/** The rows of all pages of the log, oldest first. */
export async function loggedDeliveries(
  store: Pick<Store, "deliveries">,
  filter: Partial<DeliveryFilter> = {},
): Promise<DeliveryRecord[]> {
  const found: DeliveryRecord[] = [];
  for (let below: number | null = null; ; ) {
    const { deliveries, next } = await store.deliveries.page({ ...wholeLog, ...filter }, below, 100);
    found.push(...deliveries);
    if (next === null) return found.reverse();
    below = next;
  }
}

/** In `beforeEach` or a test: an empty SQLite store and its data directory; closed and removed after the test. */
export function emptyStore(): { readonly store: Store; readonly path: string } {
  const path = ownDirectory();
  giveTables(path);
  const store = openStore(path);
  afterThisTest(() => store.close());
  return { store, path };
}

/** The time at which these factories store their rows. */
export const storedAt = Date.parse("2026-01-14T16:00:00.000Z");

/** Stores an application with a webhook and these fields. Returns its id. */
export async function storedApplication(store: Store, fields: Partial<NewApplication> = {}): Promise<string> {
  const at = isoTime(storedAt);
  const application: NewApplication = {
    id: newId(),
    name: "Test",
    client_type: "confidential",
    webhook_url: "https://receiver.test/",
    webhook_secret: "",
    scopes: [],
    redirect_uris: [],
    rate_limit: null,
    subscription_limit: null,
    created_at: at,
    updated_at: at,
    client_secret_hash: new Uint8Array(32),
    ...fields,
  };
  await store.applications.create(application);
  return application.id;
}

/** Stores `user_1` (id 1) and an application that subscribes to events of this user. Returns the application's id. */
export async function subscriber(
  store: Store,
  {
    broadcaster = 1,
    events = ["channel.followed"],
    ...fields
  }: { broadcaster?: number; events?: readonly string[] } & Partial<NewApplication> = {},
): Promise<string> {
  const user = userFrom({ id: broadcaster, username: `user_${broadcaster}` });
  await store.users.upsert([user], isoTime(storedAt));
  const applicationId = await storedApplication(store, { webhook_secret: newWebhookSecret(), ...fields });
  const wanted = events.map((event) => ({ broadcaster_user_id: broadcaster, event, version: 1 }));
  await store.subscriptions.subscribe({ applicationId, wanted, limit: wanted.length }, storedAt);
  return applicationId;
}

/** An event of user 1 to publish through the store. */
export const newEvent = (id: string, fields: Partial<NewEvent> = {}): NewEvent => ({
  id,
  name: "channel.followed",
  version: 1,
  broadcaster_user_id: 1,
  body: "{}",
  fingerprint: Buffer.from(id),
  published_at: storedAt,
  expires_at: null,
  ...fields,
});

/** The record of a first attempt that was answered with 204. */
export function attemptResult(
  due: Pick<DueDelivery, "seq"> | undefined,
  { at = storedAt, ...fields }: Partial<AttemptResult> = {},
): AttemptResult {
  if (!due) throw new Error("there is no such delivery");
  const timings = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: 1 };
  return {
    seq: due.seq,
    at,
    attempt: {
      generation: 0,
      at,
      outcome: "ok",
      status: 204,
      duration_ms: 1,
      timings,
      error: null,
      response: "",
      exchange: null,
    },
    attempts: 1,
    extra_attempts: 0,
    generation: 0,
    status: "delivered",
    next_attempt_at: null,
    resume_at: null,
    ...fields,
  };
}

/** Changes what the store of a server has, behind its back; `?` stands for the values. */
export async function changeStored(
  data: string,
  sql: string,
  values: (string | number)[] = [],
): Promise<void> {
  if (isOnPostgres) {
    const db = new SQL(await databaseFor(data), { max: 1 });
    let n = 0;
    await db.unsafe(
      sql.replace(/\?/g, () => `$${++n}`),
      values,
    );
    await db.close();
    return;
  }
  const db = new Database(join(data, "onair.db"));
  db.run("PRAGMA busy_timeout = 5000");
  db.run(sql, values);
  db.close();
}

/** Removes the body of a delivery's event, as retention does when it is old. */
export function forgetBody(data: string, deliveryId: string): Promise<void> {
  const remove = isOnPostgres ? "DELETE FROM events" : "UPDATE events SET body = NULL";
  const isIt = "seq = (SELECT event_seq FROM deliveries WHERE id = ?)";
  return changeStored(data, `${remove} WHERE ${isIt}`, [deliveryId]);
}
