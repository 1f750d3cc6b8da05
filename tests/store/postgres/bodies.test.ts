import { expect, onTestFinished, test } from "bun:test";
import { userFrom } from "../../../src/domain/users.ts";
import { readDatabaseUrl } from "../../../src/store/postgres/database/connection-url.ts";
import { openPool } from "../../../src/store/postgres/database/pool.ts";
import { openPostgresStore } from "../../../src/store/postgres/store.ts";
import { emptyDatabase, hasPostgres } from "../../support/postgres.ts";
import { storedApplication } from "../../support/store.ts";

const at = "2026-01-14T16:00:00.000Z";
const now = Date.parse(at);

const event = (id: string, name: string) => ({
  id,
  name,
  version: 1,
  broadcaster_user_id: 1,
  body: `{"id":"${id}"}`,
  fingerprint: Buffer.from(id),
  published_at: now,
  expires_at: null,
});

test.skipIf(!hasPostgres)("an event without a subscriber keeps no body, also among others", async () => {
  const database = await emptyDatabase();
  const settings = readDatabaseUrl(database.url);
  const store = await openPostgresStore(settings, { connections: 2 });
  const other = openPool(settings, { connections: 1 });
  onTestFinished(async () => {
    await Promise.all([store.close(), other.close()]);
    await database.drop();
  });
  await store.users.upsert([userFrom({ id: 1, username: "ada" })], at);
  const application = await storedApplication(store);
  const key = { app_id: application, broadcaster_user_id: 1, event: "channel.followed", version: 1 };
  await store.subscriptions.subscribe([key], 1, now);
  const events = [
    event("unwanted", "kicks.gifted"),
    event("wanted", "channel.followed"),
    event("unwanted, too", "kicks.gifted"),
  ];
  await store.events.publishAll(events, () => false);
  expect(await store.events.publish(event("unwanted", "kicks.gifted"), () => false)).toMatchObject({
    deliveries: 0,
  });
  expect(await other.run("SELECT body FROM events", [])).toEqual([{ body: '{"id":"wanted"}' }]);
});
