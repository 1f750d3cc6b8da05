import { describe, expect, test } from "bun:test";
import { newEndpoint } from "../../../src/domain/endpoints.ts";
import type { Store } from "../../../src/domain/store.ts";
import { day } from "../../../src/domain/time.ts";
import { userFrom } from "../../../src/domain/users.ts";
import { openPostgresStore } from "../../../src/postgres/store.ts";
import { readDatabaseUrl } from "../../../src/store/location.ts";
import { emptyDatabase, hasPostgres } from "../../support/postgres.ts";
import { attemptResult, loggedDeliveries, newEvent, storedAt, subscriber } from "../../support/store.ts";
import { type SilentAt, tcpProxy } from "../../support/tcp-proxy.ts";
import { until } from "../../support/until.ts";

/*
 * One connection becomes silent in the middle of a transaction; the others work.
 */

const statementTimeoutMs = 500;
/** Longer than the timeout of a statement and the grace after it, and shorter than two of them. */
const mostMs = 4_500;
const now = storedAt;
const grant = {
  applicationId: "",
  userId: null,
  scopes: ["events:subscribe"],
  expiresAt: now + day,
} as const;
const hash = (text: string) => new Bun.CryptoHasher("sha256").update(text).digest();

interface Given {
  readonly store: Store;
  /** An application that is subscribed to user 1. */
  readonly application: string;
  /** The number of its delivery, which is claimed. */
  readonly seq: number;
}

/** Each transaction of the engine. It is called again after it was refused. */
const transactions: Readonly<Record<string, (given: Given) => Promise<unknown>>> = {
  "publishing an atomic batch": ({ store }) =>
    store.events.publishAll([newEvent("batch-1"), newEvent("batch-2")], () => false),
  "recording results with a notice": ({ store, application, seq }) => {
    const endpoint = { ...newEndpoint(application), failing_since: now };
    const notice = {
      id: "notice",
      type: "endpoint.failing",
      application_id: application,
      body: "{}",
      created_at: now,
      sending: { status: "unsent", attempts: 0, next_attempt_at: null, error: null },
    } as const;
    return store.deliveries.record([attemptResult({ seq })], [endpoint], [notice]);
  },
  "retrying a delivery": async ({ store, application, seq }) => {
    const id = (await loggedDeliveries(store)).find((one) => one.seq === seq)?.id ?? "";
    await store.deliveries.retry({ application_id: application, broadcaster_user_id: null }, id, now);
  },
  "creating a replay": ({ store, application }) =>
    store.replays.create({
      id: "replay",
      application_id: application,
      broadcaster_user_id: null,
      subscription_id: null,
      status: null,
      type: null,
      from: now - day,
      to: now + day,
      dry_run: true,
      created_at: now,
    }),
  retention: ({ store }) =>
    store.retention.prune({ deliveredMs: day, failedMs: day, bodiesMs: day, byType: {} }, now + 2 * day),
  subscribing: ({ store, application: applicationId }) => {
    const wanted = [{ broadcaster_user_id: 1, event: "chat.message.sent", version: 1 }];
    return store.subscriptions.subscribe({ applicationId, wanted, limit: 9 }, now);
  },
  "revoking a token": ({ store, application }) => store.tokens.revoke(hash("token"), application),
  "removing expired tokens": ({ store }) => store.tokens.removeExpired(now),
  "changing an application": ({ store, application }) =>
    store.applications.update(application, { webhook_url: "https://other.test/" }, now),
  "removing an application": ({ store, application }) => store.applications.remove(application, now),
  "enabling an endpoint": ({ store, application }) => store.endpoints.enable(application, now),
};

interface Silenced extends Given {
  silence(at: SilentAt): Promise<unknown>;
}

async function withStore(work: (given: Silenced) => Promise<void>): Promise<void> {
  const database = await emptyDatabase();
  const proxy = await tcpProxy(Number(new URL(database.url).port));
  const settings = { ...readDatabaseUrl(database.url), port: proxy.port };
  const store = await openPostgresStore(settings, { connections: 4, statementTimeoutMs });
  try {
    await store.deliveries.releaseAll();
    await store.users.upsert([userFrom({ id: 2, username: "two" })], "");
    const application = await subscriber(store);
    await store.tokens.create(hash("token"), { ...grant, applicationId: application });
    await store.events.publish(newEvent("first"), () => false);
    const { due } = await store.deliveries.claim(application, now, 9);
    await work({ store, application, seq: due[0]?.seq ?? 0, silence: proxy.silence });
  } finally {
    await store.close();
    proxy.stop();
    await database.drop();
  }
}

describe.skipIf(!hasPostgres).concurrent("a connection that becomes silent", () => {
  const points: readonly SilentAt[] = ["statement", "commit", "answer to commit"];
  const cases = Object.keys(transactions).flatMap((name) => points.map((at) => [name, at] as const));
  test.each(cases)("in %s, at its %s: the caller is refused in time", (name, at) =>
    withStore(async ({ silence, ...given }) => {
      const { store, seq } = given;
      const work = () => transactions[name]?.(given);
      const silent = silence(at);
      const startedAt = performance.now();
      let isWaiting = true;
      const refused = work()
        ?.then(
          () => null,
          (error: unknown) => error,
        )
        .finally(() => {
          isWaiting = false;
        });
      await silent;
      // Other connections get answers meanwhile.
      while (isWaiting && performance.now() - startedAt < mostMs) {
        expect(await store.users.find("two")).not.toBeNull();
        await Bun.sleep(100);
      }
      expect(isWaiting).toBe(false);
      expect(await refused).toMatchObject({ code: "unavailable" });
      // The server ends the transaction, which holds locks, and the same works again.
      await until(
        () =>
          work()?.then(
            () => true,
            (error: { code?: string }) => error.code !== "unavailable",
          ) ?? false,
      );
      const other = await store.events.publish(newEvent("other"), () => false);
      expect(other.id).toBe("other");
      if (name.startsWith("recording")) {
        const recorded = (await loggedDeliveries(store)).find((one) => one.seq === seq);
        expect(recorded).toMatchObject({ status: "delivered", attempts: [{ status: 204 }] });
        expect(await store.notices.page(null, null, 9)).toHaveLength(1);
      }
      if (name.startsWith("publishing")) {
        const ids = (await loggedDeliveries(store)).map(({ event_id }) => event_id);
        expect(ids.filter((id) => id.startsWith("batch"))).toEqual(["batch-1", "batch-2"]);
      }
    }),
  );
});
