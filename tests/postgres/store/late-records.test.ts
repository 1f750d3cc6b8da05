import { expect, setDefaultTimeout, test } from "bun:test";
import { newEndpoint } from "../../../src/domain/endpoints.ts";
import { openPostgresStore } from "../../../src/postgres/store.ts";
import { readDatabaseUrl } from "../../../src/store/location.ts";
import { afterThisTest } from "../../support/after-tests.ts";
import { emptyDatabase, hasPostgres } from "../../support/postgres.ts";
import { attemptResult, loggedDeliveries, newEvent, storedAt, subscriber } from "../../support/store.ts";
import { tcpProxy } from "../../support/tcp-proxy.ts";

setDefaultTimeout(60_000);

/*
 * A record of results and states, or an event, that arrives late at the server, or whose answer arrives late.
 */

/** A store whose connections lead through a proxy, with an application that is subscribed to user 1. */
async function ownProxiedStore(options: {
  readonly connections: number;
  readonly statementTimeoutMs?: number;
}) {
  const database = await emptyDatabase();
  const proxy = await tcpProxy(Number(new URL(database.url).port));
  const store = await openPostgresStore({ ...readDatabaseUrl(database.url), port: proxy.port }, options);
  afterThisTest(async () => {
    await store.close();
    proxy.stop();
    await database.drop();
  });
  await store.deliveries.releaseAll();
  const application = await subscriber(store);
  return { store, proxy, application };
}

test.skipIf(!hasPostgres)(
  "a state of an endpoint that arrives after a newer one does not replace it",
  async () => {
    // One connection: once it has prepared a statement, it sends all of it in one message.
    const { store, proxy, application } = await ownProxiedStore({ connections: 1, statementTimeoutMs: 500 });
    const state = (n: number) => ({ ...newEndpoint(application), failing_since: storedAt, revision: n });
    await store.deliveries.record([], [state(1)]);
    const silent = proxy.silence("message");
    const refused = store.deliveries.record([], [state(2)]).catch((error: unknown) => error);
    const arrive = await silent;
    expect(await refused).toMatchObject({ code: "unavailable" });
    await store.deliveries.record([], [{ ...state(3), failures: 3 }]);
    await arrive();
    expect(await store.endpoints.find(application)).toEqual({ ...state(3), failures: 3 });
  },
);

const returned = { attempt: null, attempts: 0, status: "pending", next_attempt_at: 0 } as const;
const failedOnce = { status: "pending", next_attempt_at: storedAt } as const;

test.skipIf(!hasPostgres).each([
  ["of a delivery that went back into the store", returned],
  ["of a retry", failedOnce],
])(
  "a record %s, whose answer arrives after the next claim, does not let it be claimed twice",
  async (_, fields) => {
    const { store, proxy, application } = await ownProxiedStore({ connections: 4 });
    await store.events.publish(newEvent("one"), () => false);
    const claim = async () => (await store.deliveries.claim(application, storedAt, 9)).due;
    const [due] = await claim();
    const result = attemptResult(due, fields);
    const silent = proxy.silence("message");
    const late = store.deliveries.record([result], []);
    const arrive = await silent;
    await store.deliveries.record([result], []);
    expect(await claim()).toHaveLength(1);
    await arrive();
    await late;
    expect(await claim()).toEqual([]);
    await store.deliveries.record([attemptResult(due, { attempts: result.attempts + 1 })], []);
    expect(await loggedDeliveries(store)).toMatchObject([
      { status: "delivered", attempts: { length: result.attempts + 1 } },
    ]);
  },
);

test.skipIf(!hasPostgres)(
  "an event whose statement arrives after it was given up is not overtaken by the next one",
  async () => {
    const { store, proxy } = await ownProxiedStore({ connections: 1, statementTimeoutMs: 500 });
    const publish = async (id: string) => {
      const behind: boolean[] = [];
      const stored = await store.events.publish(newEvent(id), (_, isBehind = false) => {
        behind.push(isBehind);
        return !isBehind;
      });
      return { behind, taken: stored.taken.length };
    };
    const follows = { behind: [false], taken: 1 };
    for (const id of ["first", "second"]) expect(await publish(id)).toEqual(follows);
    const silent = proxy.silence("message");
    const refused = publish("late").catch((error: unknown) => error);
    const arrive = await silent;
    expect(await refused).toMatchObject({ code: "unavailable" });
    await arrive();
    expect((await loggedDeliveries(store)).map(({ event_id }) => event_id)).toEqual([
      "first",
      "second",
      "late",
    ]);
    expect(await publish("next")).toEqual({ behind: [true], taken: 0 });
    expect(await publish("last")).toEqual(follows);
  },
);
