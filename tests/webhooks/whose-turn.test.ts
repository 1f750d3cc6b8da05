import { beforeEach, describe, expect, test } from "bun:test";
import { everything } from "../../src/domain/delivery-log.ts";
import type { Store } from "../../src/store/store.ts";
import type { SendRequest, SendResult } from "../../src/webhooks/client/sender.ts";
import { dispatching, ok } from "../support/dispatching.ts";
import { newEvent, ownStore, subscriber } from "../support/store.ts";
import { until } from "../support/until.ts";

/** Their claims take all of the memory that claims may take. */
const many = 260;
const eventsForMany = 10;
const connections = 16;
const mostOfOthers = 14;
/** The most deliveries in memory that were claimed from backlogs. */
const mostClaimed = 2_048;
const [manys, newcomers] = [1, 2];
const newcomerUrl = "https://newcomer.test/";

describe("an endpoint that nothing waited for", () => {
  let store: Store;
  beforeEach(async () => {
    ({ store } = await ownStore());
    for (let i = 0; i < many; i++) await subscriber(store, { broadcaster: manys });
    await subscriber(store, { broadcaster: newcomers, webhook_url: newcomerUrl });
  });

  /** A dispatcher to whom only the newcomer answers. */
  const onlyNewcomerAnswers = () => {
    const end = Promise.withResolvers<SendResult>();
    const sent = { newcomer: [] as string[], others: 0 };
    const one = dispatching(store, {
      connections,
      async send({ url, headers }: SendRequest) {
        if (url !== newcomerUrl) {
          sent.others++;
          return end.promise;
        }
        sent.newcomer.push(String(headers["onair-event-id"]));
        return ok;
      },
    });
    const stop = async () => {
      end.resolve(ok);
      await one.stop();
    };
    return { publish: one.publish, counts: sent, stop };
  };
  const ids = Array.from({ length: 20 }, (_, i) => `new ${i}`);

  test("does not wait for the backlogs of others, also where its events came before the dispatcher ran", async () => {
    for (let i = 0; i < eventsForMany; i++) await store.events.publish(newEvent(`e${i}`), () => false);
    const { publish, counts, stop } = onlyNewcomerAnswers();
    // More of them than one claim takes.
    await Promise.all(ids.map((id) => publish(id, newcomers)));
    await until(() => counts.newcomer.length === ids.length);
    expect(counts.newcomer).toEqual(ids);

    await until(() => counts.others === mostOfOthers);
    await publish("later", newcomers);
    await until(() => counts.newcomer.length > ids.length);
    expect(counts.others).toBe(mostOfOthers);
    await stop();
  });

  test("does not wait for the many receivers of an event that came before its own", async () => {
    const { publish, counts, stop } = onlyNewcomerAnswers();
    await publish("earlier", newcomers);
    await until(() => counts.newcomer.length === 1);
    await publish("everyone's", manys);
    await until(() => counts.others === mostOfOthers);
    for (const id of ids) await publish(id, newcomers);
    await until(() => counts.newcomer.length > ids.length);
    expect(counts.newcomer).toEqual(["earlier", ...ids]);
    expect(counts.others).toBe(mostOfOthers);
    await stop();
  });
});

test("new deliveries that take long keep no backlog from the connections that are free", async () => {
  const { store } = await ownStore();
  const slow = ["a", "b", "c"];
  for (const name of slow)
    await subscriber(store, { broadcaster: manys, webhook_url: `https://${name}.test/` });
  const id = await subscriber(store, { broadcaster: newcomers, webhook_url: newcomerUrl });
  const one = dispatching(store, { connections });
  for (let i = 0; i < 8; i++) await one.publish(`slow ${i}`, manys);
  await until(() => one.sent.length > connections / 2);
  await store.events.publish(newEvent("old", { broadcaster_user_id: newcomers }), () => false);
  one.dispatcher.wake(id);
  await until(() => one.sent.some(({ url }) => url === newcomerUrl));
  one.receiver.answersAll = true;
  for (const { answer } of one.sent) answer(ok);
  await one.settled();
  await one.stop();
});

test("what waits in memory for endpoints that are slow keeps no other endpoint's backlog in the store", async () => {
  const { store } = await ownStore();
  for (let i = 0; i < 9; i++)
    await subscriber(store, { broadcaster: manys, webhook_url: `https://slow${i}.test/` });
  const id = await subscriber(store, { broadcaster: newcomers, webhook_url: newcomerUrl });
  const one = dispatching(store, { connections: 256 });
  for (let i = 0; i < 300; i++) await one.publish(`slow ${i}`, manys);
  expect(one.dispatcher.stats.queued).toBeGreaterThan(mostClaimed);
  await store.events.publish(newEvent("old", { broadcaster_user_id: newcomers }), () => false);
  one.dispatcher.wake(id);
  await until(() => one.sent.some(({ url }) => url === newcomerUrl));
  one.receiver.answersAll = true;
  for (const { answer } of one.sent) answer(ok);
  await one.settled();
  await one.stop();
});

test("a replay is told when what it asked for is on disk, and of nothing else", async () => {
  const { store } = await ownStore();
  const id = await subscriber(store);
  const told: string[] = [];
  const one = dispatching(store, {
    send: async () => ok,
    sentAgain: (applicationId) => told.push(applicationId),
  });
  await one.publish("e1");
  await one.settled();
  const [delivery = ""] = one.sent.map(({ id }) => id);
  expect(told).toEqual([]);
  await one.store.deliveries.retry(everything, delivery, one.now());
  await until(() => told.length > 0);
  expect([told, one.sent.length, await store.deliveries.pending()]).toEqual([[id], 2, []]);
  await one.stop();
});
