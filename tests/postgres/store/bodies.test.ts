import { expect, test } from "bun:test";
import { hasPostgres } from "../../support/postgres.ts";
import { ownPostgres } from "../../support/postgres-stores.ts";
import { newEvent, subscriber } from "../../support/store.ts";

const event = (id: string, name: string) => newEvent(id, { name, body: `{"id":"${id}"}` });

test.skipIf(!hasPostgres)("an event without a subscriber keeps no body, also among others", async () => {
  const { store, pool } = await ownPostgres();
  await subscriber(store);
  const events = [
    event("unwanted", "kicks.gifted"),
    event("wanted", "channel.followed"),
    event("unwanted, too", "kicks.gifted"),
  ];
  await store.events.publishAll(events, () => false);
  expect(await store.events.publish(event("unwanted", "kicks.gifted"), () => false)).toMatchObject({
    deliveries: 0,
  });
  expect(await pool.run("SELECT body FROM events")).toEqual([{ body: '{"id":"wanted"}' }]);
});
