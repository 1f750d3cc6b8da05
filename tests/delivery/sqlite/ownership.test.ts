import { expect, test } from "bun:test";
import type { Dispatcher } from "../../../src/delivery/attempt.ts";
import type { SendRequest } from "../../../src/delivery/send/send.ts";
import { newId } from "../../../src/domain/ids.ts";
import { type Deliverer, type EndpointNotification, soleOwnership } from "../../../src/domain/replicas.ts";
import type { Store } from "../../../src/domain/store.ts";
import { hour, minute, second } from "../../../src/domain/time.ts";
import type { Timers } from "../../../src/runtime/event-loop.ts";
import { dispatching, ok } from "../../support/dispatching.ts";
import { attemptResult, emptyStore, newEvent, storedAt, subscriber } from "../../support/store.ts";
import { someTurns, until } from "../../support/until.ts";
import { settle, VirtualTime } from "../../support/virtual-time.ts";

/**
 * A dispatcher whose ownership the test settles. Its look-ups of pending deliveries fail as long as `isFailing`, and
 * `looked` is called after each. Retries that are too far are made due only if not `areFarHeld`.
 */
async function owning({ timers }: { timers?: Timers } = {}) {
  const { store: elsewhere } = emptyStore();
  const application = await subscriber(elsewhere);
  const pending = async () => {
    if (state.isFailing) throw new Error("the database is away");
    const found = await elsewhere.deliveries.pending();
    state.looked();
    return found;
  };
  const makeFarRetriesDue: Store["deliveries"]["makeFarRetriesDue"] = async (...given) => {
    if (state.areFarHeld) throw new Error("the statement has timed out");
    const isDone = await elsewhere.deliveries.makeFarRetriesDue(...given);
    state.areFarDue = isDone;
    return isDone;
  };
  const claim: Store["deliveries"]["claim"] = (...given) => {
    state.claims++;
    return elsewhere.deliveries.claim(...given);
  };
  const store = { ...elsewhere, deliveries: { ...elsewhere.deliveries, pending, makeFarRetriesDue, claim } };
  const sole = soleOwnership(() => store.deliveries.releaseAll());
  const told: EndpointNotification[] = [];
  const state = {
    holds: true,
    hasLease: true,
    isFailing: false,
    areFarHeld: false,
    areFarDue: false,
    claims: 0,
    looked() {},
    told,
    deliverer: null as Deliverer | null,
    asked: 0,
  };
  const run = dispatching(store, {
    ownership: {
      ...sole,
      async join(deliverer) {
        await sole.join(deliverer);
        state.deliverer = deliverer;
      },
      holds: () => state.holds,
      hasLease: () => state.hasLease,
      notify: (notification) => void told.push(notification),
    },
    requested: () => void state.asked++,
    ...(timers !== undefined && { timers }),
  });
  await until(() => state.deliverer !== null);
  return { application, state, elsewhere, ...run };
}

/** Stops a dispatcher whose results are gathered in virtual time. */
async function stopIn(time: VirtualTime, dispatcher: Dispatcher, stop: () => Promise<void>): Promise<void> {
  const stopped = stop();
  await until(async () => {
    await time.pass(second, settle);
    return dispatcher.stats.unrecorded === 0;
  });
  await stopped;
}

test("nothing is sent without a lease; with it again, deliveries go on in order", async () => {
  const { state, dispatcher, sent, publish, stop } = await owning();
  await publish("a");
  await until(() => sent.length === 1);
  state.hasLease = false;
  for (const id of ["b", "c"]) await publish(id);
  sent[0]?.answer(ok);
  await until(() => dispatcher.stats.inFlight + dispatcher.stats.unrecorded === 0);
  await someTurns();
  expect(sent).toHaveLength(1);
  state.hasLease = true;
  state.deliverer?.resumed();
  await until(() => sent.length >= 2);
  for (let i = 1; i < 3; i++) {
    await until(() => sent.length > i);
    sent[i]?.answer(ok);
  }
  expect(sent.map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
  await stop();
});

test("a manual retry counts as waiting while there is no lease", async () => {
  const { application, state, dispatcher, sent, publish, settled, stop } = await owning();
  await publish("a");
  await until(() => sent.length === 1);
  sent[0]?.answer(ok);
  await settled();
  state.hasLease = false;
  dispatcher.sendNow(application);
  await someTurns();
  expect(dispatcher.stats).toMatchObject({ inFlight: 0, queued: 0, unrecorded: 0, waiting: 1 });
  state.hasLease = true;
  state.deliverer?.resumed();
  await settled();
  expect(dispatcher.stats.waiting).toBe(0);
  await stop();
});

test("deliveries of an endpoint that another process owns are not sent; that process is notified", async () => {
  const { state, sent, application, dispatcher, publish, stop } = await owning();
  await publish("a");
  await until(() => sent.length === 1);
  sent[0]?.answer(ok);
  await publish("b");
  await until(() => sent.length === 2);
  state.holds = false;
  state.deliverer?.lost(() => true);
  // The attempt under way goes on, without a notification.
  expect(state.told).toEqual([]);
  sent[1]?.answer(ok);
  await publish("c");
  dispatcher.sendNow(application);
  dispatcher.applicationChanged(application, null);
  await until(() => dispatcher.stats.inFlight + dispatcher.stats.unrecorded === 0);
  await someTurns();
  expect(sent).toHaveLength(2);
  expect(state.told).toEqual([
    { kind: "published", applications: [application] },
    { kind: "requested", application },
    { kind: "changed", application },
  ]);
  // It owns the endpoint again, with the events published meanwhile.
  state.holds = true;
  await state.deliverer?.gained(() => true);
  await until(() => sent.length === 3);
  expect(sent[2]?.sequence).toBe(3);
  sent[2]?.answer(ok);
  await stop();
});

test("after a gain whose look-up failed, no event overtakes those that wait in the store", async () => {
  const { state, elsewhere, sent, publish, stop } = await owning();
  await elsewhere.events.publish(newEvent("older"), () => false);
  const all = () => true;
  state.isFailing = true;
  await expect(state.deliverer?.gained(all)).rejects.toThrow("away");
  state.isFailing = false;
  await publish("newer");
  await state.deliverer?.gained(all);
  for (let i = 0; i < 2; i++) {
    await until(() => sent.length > i);
    sent[i]?.answer(ok);
  }
  expect(sent.map(({ sequence }) => sequence)).toEqual([1, 2]);
  await stop();
});

test("an event whose publishing got no answer is not overtaken, however long the database is away then", async () => {
  const time = new VirtualTime();
  const { state, elsewhere, dispatcher, sent, publish, stop } = await owning({ timers: time.timers });
  await elsewhere.events.publish(newEvent("unanswered"), () => false);
  state.isFailing = true;
  dispatcher.outcomeUnknown();
  await time.pass(minute, settle);
  state.isFailing = false;
  await publish("next");
  await someTurns();
  await time.pass(2 * second, settle);
  for (let i = 0; i < 2; i++) {
    await until(() => sent.length > i);
    sent[i]?.answer(ok);
  }
  expect(sent.map(({ sequence }) => sequence)).toEqual([1, 2]);
  await stopIn(time, dispatcher, stop);
});

test("events go into memory while retries of a former clock cannot be made due; these follow as soon as they can", async () => {
  const time = new VirtualTime();
  const { application, state, elsewhere, dispatcher, sent, publish, stop } = await owning({
    timers: time.timers,
  });
  await elsewhere.events.publish(newEvent("far"), () => false);
  const { due } = await elsewhere.deliveries.claim(application, storedAt, 1);
  const far = attemptResult(due[0], { status: "pending", next_attempt_at: storedAt + 1_000 * hour });
  await elsewhere.deliveries.record([far], []);
  state.areFarHeld = true;
  await state.deliverer?.gained(() => true);
  await someTurns();
  state.claims = 0;
  await publish("new");
  await until(() => sent.length === 1);
  expect(state.claims).toBe(0);
  sent[0]?.answer(ok);
  state.areFarHeld = false;
  await time.pass(2 * second, settle);
  await until(() => sent.length === 2);
  sent[1]?.answer(ok);
  expect(sent.map(({ sequence }) => sequence)).toEqual([2, 1]);
  await stopIn(time, dispatcher, stop);
});

test("an event whose publishing got no answer just as the scans for an earlier one end is not overtaken, and looked for as long", async () => {
  for (let turns = 0; turns < 12; turns++) {
    const time = new VirtualTime();
    const { state, elsewhere, dispatcher, sent, publish, stop } = await owning({ timers: time.timers });
    await until(() => state.areFarDue);
    dispatcher.outcomeUnknown();
    await time.pass(14 * second, settle);
    let looks = 0;
    const again = Promise.withResolvers<void>();
    state.looked = async () => {
      state.looked = () => void looks++;
      for (let turn = 0; turn < turns; turn++) await Promise.resolve();
      dispatcher.outcomeUnknown();
      again.resolve();
    };
    await time.pass(second, settle);
    await again.promise;
    await elsewhere.events.publish(newEvent("unanswered"), () => false);
    await publish("next");
    await someTurns();
    await time.pass(8 * second, settle);
    expect(looks).toBe(8);
    for (let i = 0; i < 2; i++) {
      await until(() => sent.length > i);
      sent[i]?.answer(ok);
    }
    expect(sent.map(({ sequence }) => sequence)).toEqual([1, 2]);
    await stopIn(time, dispatcher, stop);
  }
});

test("a replay for an endpoint of another process is notified to it, and makes it look for replays", async () => {
  const { state, application, store, now, stop } = await owning();
  const replay = {
    application_id: application,
    broadcaster_user_id: null,
    subscription_id: null,
    of_broadcaster: null,
    status: null,
    type: null,
    from: 0,
    to: 1,
    created_at: now(),
  };
  await store.replays.create({ ...replay, id: newId(), dry_run: false });
  expect([state.told, state.asked]).toEqual([[], 0]);
  state.holds = false;
  await store.replays.create({ ...replay, id: newId(), dry_run: true, from: 2, to: 3 });
  expect(state.told).toEqual([]);
  await store.replays.create({ ...replay, id: newId(), dry_run: false, from: 4, to: 5 });
  expect(state.told).toEqual([{ kind: "requested", application }]);
  state.holds = true;
  state.deliverer?.received({ kind: "requested", application });
  expect(state.asked).toBe(1);
  await stop();
});

test.each([
  ["enabled", { disabled: true }, { disabled: false }],
  ["given a webhook", { delivery: "stream" }, { delivery: "webhook" }],
] as const)(
  "an application that another process has %s gets events published before the notification of it",
  async (_, off, on) => {
    const { state, sent, application, dispatcher, publish, elsewhere, settled, stop } = await owning();
    await publish("a");
    await until(() => sent.length === 1);
    sent[0]?.answer(ok);
    await elsewhere.applications.update(application, off, 0);
    state.deliverer?.received({ kind: "changed", application });
    await settled();
    await elsewhere.applications.update(application, on, 0);
    await publish("b");
    await until(() => sent.length === 2);
    sent[1]?.answer(ok);
    await settled();
    expect(dispatcher.stats.counts.finished).toMatchObject({ delivered: 2 });
    await stop();
  },
);

test("a claim that ends while the dispatcher stops does not delay the hand-over of its endpoint", async () => {
  const { store } = emptyStore();
  const application = await subscriber(store);
  await store.events.publish(newEvent("a"), () => false);
  const claims = { begun: 0, end: Promise.withResolvers<void>() };
  const claim: typeof store.deliveries.claim = async (...given) => {
    claims.begun++;
    await claims.end.promise;
    return store.deliveries.claim(...given);
  };
  const sole = soleOwnership(() => store.deliveries.releaseAll());
  let deliverer: Deliverer | null = null;
  const { stop } = dispatching(
    { ...store, deliveries: { ...store.deliveries, claim } },
    {
      ownership: {
        ...sole,
        async join(joining) {
          deliverer = joining;
          await sole.join(joining);
        },
        async leave() {
          claims.end.resolve();
          await until(() => [...(deliverer?.busy() ?? [])].length === 0);
        },
      },
    },
  );
  await until(() => claims.begun === 1);
  await stop();
  expect((await store.deliveries.claim(application, storedAt, 8)).due).toHaveLength(1);
});

/** Publishes an event; `meanwhile` happens while its first attempt connects. Returns the requests of all attempts. */
async function attemptsWith(
  meanwhile: (store: Store, missed: () => Promise<void>) => Promise<void>,
  delivered = 1,
) {
  const { store } = emptyStore();
  await subscriber(store);
  const sole = soleOwnership(() => store.deliveries.releaseAll());
  let deliverer: Deliverer | null = null;
  const requests: SendRequest[] = [];
  const { publish, dispatcher, settled, stop } = dispatching(store, {
    ownership: {
      ...sole,
      async join(joining) {
        deliverer = joining;
        await sole.join(joining);
      },
    },
    async send(request) {
      requests.push(request);
      if (requests.length > 1) return ok;
      let isCanceled = false;
      request.connecting?.(() => {
        isCanceled = true;
      });
      await meanwhile(store, async () => {
        deliverer?.notificationsMissed();
        await until(() => dispatcher.stats.waiting === 0);
      });
      return isCanceled || request.mayBeSent?.() === false ? { ...ok, class: "canceled", status: null } : ok;
    },
  });
  await publish("a");
  await until(() => requests.length > 0);
  await settled();
  expect(dispatcher.stats.counts.attempts["ok"] ?? 0).toBe(delivered);
  await stop();
  return requests;
}

test("a request that is not written yet is signed again if its application has changed while notifications were lost", async () => {
  const url = "https://changed.example/";
  const requests = await attemptsWith(async (store, missed) => {
    const [application] = await store.applications.all();
    await store.applications.update(application?.id ?? "", { webhook_url: url }, storedAt);
    await missed();
  });
  expect(requests.map((request) => request.url === url)).toEqual([false, true]);
});

test("a request that is not written yet is not sent if its subscription was removed while notifications were lost", async () => {
  const requests = await attemptsWith(async (store, missed) => {
    const [application] = await store.applications.all();
    const { id = "" } = application ?? {};
    const [subscription] = await store.subscriptions.ofApplication(id);
    await store.subscriptions.remove(id, [subscription?.id ?? ""], storedAt);
    await missed();
  }, 0);
  expect(requests).toHaveLength(1);
});

test("while notifications are lost, again and again, an endpoint that takes long to connect to gets its deliveries", async () => {
  const requests = await attemptsWith(async (_, missed) => {
    await missed();
    await missed();
  });
  expect(requests).toHaveLength(1);
});

test("a request is signed again if it could be written before its application is looked up", async () => {
  const requests = await attemptsWith(async (_, missed) => {
    void missed();
  });
  expect(requests).toHaveLength(2);
});
