import { beforeEach, describe, expect, test } from "bun:test";
import type { SendRequest, SendResult } from "../../src/delivery/send/send.ts";
import type { Store } from "../../src/domain/store.ts";
import { dispatching, ok } from "../support/dispatching.ts";
import { newEvent, ownStore, subscriber } from "../support/store.ts";
import { until } from "../support/until.ts";

/** So many endpoints that their claims fill the memory that claims may take. */
const many = 260;
const eventsForMany = 10;
const connections = 16;
const mostOfOthers = 14;
/** The most deliveries in memory that were claimed from backlogs. */
const mostClaimed = 2_048;
const [manys, newcomers] = [1, 2];
const newcomerUrl = "https://newcomer.test/";

type Dispatching = ReturnType<typeof dispatching>;

describe("an endpoint without a backlog", () => {
  let store: Store;
  beforeEach(async () => {
    ({ store } = await ownStore());
    for (let i = 0; i < many; i++) await subscriber(store, { broadcaster: manys });
    await subscriber(store, { broadcaster: newcomers, webhook_url: newcomerUrl });
  });

  /** A dispatcher that only the newcomer answers. */
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

  test("does not wait for the backlogs of others, also when it was published to before the dispatcher ran", async () => {
    for (let i = 0; i < eventsForMany; i++) await store.events.publish(newEvent(`e${i}`), () => false);
    const { publish, counts, stop } = onlyNewcomerAnswers();
    // More events than one claim takes.
    await Promise.all(ids.map((id) => publish(id, newcomers)));
    await until(() => counts.newcomer.length === ids.length);
    expect(counts.newcomer).toEqual(ids);

    await until(() => counts.others === mostOfOthers);
    await publish("later", newcomers);
    await until(() => counts.newcomer.length > ids.length);
    expect(counts.others).toBe(mostOfOthers);
    await stop();
  });

  test("does not wait for the many receivers of an earlier event", async () => {
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

test.each<[string, (one: Dispatching) => boolean, { slow: number; events: number; connections: number }]>([
  [
    "new deliveries under way to slow endpoints leave connections",
    ({ sent }) => sent.length > connections / 2,
    { slow: 3, events: 8, connections },
  ],
  [
    "new deliveries in memory for slow endpoints leave memory",
    ({ dispatcher }) => dispatcher.stats.queued > mostClaimed,
    { slow: 9, events: 300, connections: 256 },
  ],
])("%s to the backlog of another endpoint", async (_, isBusy, { slow, events, connections }) => {
  const { store } = await ownStore();
  for (let i = 0; i < slow; i++)
    await subscriber(store, { broadcaster: manys, webhook_url: `https://slow${i}.test/` });
  const id = await subscriber(store, { broadcaster: newcomers, webhook_url: newcomerUrl });
  const one = dispatching(store, { connections });
  // Events before the dispatcher runs go to the store, and later ones behind them.
  await one.publish("slow", manys);
  await until(() => one.sent.length === slow);
  for (let i = 1; i < events; i++) await one.publish(`slow ${i}`, manys);
  await until(() => isBusy(one));
  await store.events.publish(newEvent("old", { broadcaster_user_id: newcomers }), () => false);
  one.dispatcher.wake(id);
  await until(() => one.sent.some(({ url }) => url === newcomerUrl));
  one.receiver.answersAll = true;
  for (const { answer } of one.sent) answer(ok);
  await one.settled();
  await one.stop();
});
