import { expect, onTestFinished, test } from "bun:test";
import { userFrom } from "../../../src/domain/users.ts";
import { openPostgresStore } from "../../../src/postgres/store.ts";
import { readDatabaseUrl } from "../../../src/store/location.ts";
import { emptyDatabase, hasPostgres, ownPostgres, waitingForLocks } from "../../support/postgres.ts";
import { storedApplication } from "../../support/store.ts";
import { tcpProxy } from "../../support/tcp-proxy.ts";
import { until } from "../../support/until.ts";

const now = Date.parse("2026-01-14T16:00:00.000Z");
const users = [1, 2, 3].map((id) => userFrom({ id, username: `user${id}` }));
const to = (broadcaster_user_id: number) => ({ broadcaster_user_id, event: "channel.followed", version: 1 });

test.skipIf(!hasPostgres)(
  "subscribing takes four round trips, and three where there is nothing new",
  async () => {
    const { url, drop } = await emptyDatabase();
    const proxy = await tcpProxy(Number(new URL(url).port));
    const settings = { ...readDatabaseUrl(url), port: proxy.port };
    const store = await openPostgresStore(settings, { connections: 1 });
    onTestFinished(async () => {
      await store.close();
      proxy.stop();
      await drop();
    });
    await store.users.upsert(users, "");
    const applicationId = await storedApplication(store);
    const token = new Uint8Array(32);
    await store.tokens.create(token, {
      applicationId,
      userId: null,
      scopes: [],
      createdAt: now,
      expiresAt: now + 1e6,
    });
    const taken = async (wanted: readonly ReturnType<typeof to>[]) => {
      const before = proxy.roundTrips;
      await store.subscriptions.subscribe({ applicationId, wanted, limit: 10, token }, now);
      return proxy.roundTrips - before;
    };
    // Its statements are prepared.
    await taken([to(1)]);
    // BEGIN; locks and reads; the rows; COMMIT.
    expect(await taken([to(2), to(3), { ...to(3), event: "raffle.won" }])).toBe(4);
    expect(await taken([to(1), to(2)])).toBe(3);
  },
);

test.skipIf(!hasPostgres)("what is committed while it waits for the application is seen", async () => {
  const { store, pool: other } = await ownPostgres();
  await store.users.upsert(users, "");
  const applicationId = await storedApplication(store);
  const subscribe = () =>
    store.subscriptions.subscribe({ applicationId, wanted: [to(1), to(2), to(3)], limit: 3 }, now);
  // Prepared or not, its statements keep their order.
  for (const attempt of ["not prepared", "prepared"]) {
    await other.run("DELETE FROM subscriptions");
    let subscribed: ReturnType<typeof subscribe> | undefined;
    await other.transact(async ({ run }) => {
      await run("SELECT FROM applications FOR NO KEY UPDATE");
      subscribed = subscribe();
      await until(async () => (await waitingForLocks(other)) > 0);
      const values =
        "('known', $1, 1, 'channel.followed', 1, 0, '', ''), ('fourth', $1, 1, 'kicks.gifted', 1, 0, '', '')";
      await run(`INSERT INTO subscriptions VALUES ${values}`, [applicationId]);
    });
    const error = expect.stringContaining("The limit of 3 subscriptions");
    expect({ attempt, ...(await subscribed) }).toEqual({
      attempt,
      results: [{ id: "known" }, { id: expect.any(String) }, { error }],
      used: 3,
    });
  }
});
