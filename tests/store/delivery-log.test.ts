import { beforeAll, describe, expect, test } from "bun:test";
import { seeded } from "../../src/dev/chance.ts";
import {
  type AttemptResult,
  type DeliveryFilter,
  type DueDelivery,
  everything,
  type StreamScope,
} from "../../src/domain/deliveries.ts";
import { hour, isoTime, second } from "../../src/domain/time.ts";
import { userFrom } from "../../src/domain/users.ts";
import {
  attemptResult,
  loggedDeliveries,
  newEvent,
  ownStore,
  storedApplication,
  storedAt,
  subscriber,
  testStore,
  wholeLog,
} from "../support/store.ts";

/*
 * An application that is subscribed to everything, one to the half of it, and one that had three events; some of it
 * failed, and a part is pending.
 */

const start = Date.parse("2026-01-14T16:00:00Z");
const types = ["chat.message.sent", "channel.followed", "kicks.gifted"] as const;
const [broadcasters, total, rareEvery] = [10, 4_500, 1_500];

interface Expected {
  readonly seq: number;
  readonly event_id: string;
  readonly application_id: string;
  readonly subscription_id: string;
  readonly type: string;
  readonly broadcaster_user_id: number;
  readonly published_at: number;
  readonly status: string;
}

const { store } = await testStore();

describe("the log of deliveries", () => {
  let [large, half, rare, none] = ["", "", "", ""];
  /** The published and recorded deliveries, oldest first. */
  const log: Expected[] = [];

  beforeAll(async () => {
    const users = Array.from({ length: broadcasters + 1 }, (_, i) =>
      userFrom({ id: i + 1, username: `user_${i + 1}` }),
    );
    await store.users.upsert(users, isoTime(start));
    [large, half, rare, none] = await Promise.all([
      storedApplication(store, { id: "large" }),
      storedApplication(store, { id: "half" }),
      storedApplication(store, { id: "rare" }),
      storedApplication(store, { id: "none" }),
    ]);
    const subscribe = (applicationId: string, users: readonly number[]) => {
      const wanted = users.flatMap((id) =>
        types.map((event) => ({ broadcaster_user_id: id, event, version: 1 })),
      );
      return store.subscriptions.subscribe({ applicationId, wanted, limit: 1_000 }, start);
    };
    const all = users.map(({ id }) => id);
    await subscribe(large, all);
    await subscribe(half, all.slice(0, broadcasters / 2));
    await subscribe(rare, all.slice(broadcasters));
    const random = seeded(1);
    const events = Array.from({ length: total }, (_, i) => {
      const any = 1 + Math.floor(random() * broadcasters);
      const broadcaster_user_id = i % rareEvery === 7 ? broadcasters + 1 : any;
      const name = types[i % types.length] ?? types[0];
      return newEvent(`e${i}`, { name, broadcaster_user_id, published_at: start + i * second });
    });
    const byId = new Map(events.map((event) => [event.id, event]));
    for (let i = 0; i < total; i += 500) {
      const { taken } = await store.events.publishAll(events.slice(i, i + 500), () => true);
      const results = taken.map((one) => resultOf(one, random(), start + i * second));
      for (const [n, { seq, application_id, subscription_id, event }] of taken.entries()) {
        const { name: type, broadcaster_user_id, published_at } = byId.get(event.id) ?? events[0] ?? never();
        const status = results[n]?.status ?? "";
        const its = { event_id: event.id, type, broadcaster_user_id, published_at };
        log.push({ seq, application_id, subscription_id, ...its, status });
      }
      await store.deliveries.record(results, []);
    }
  });

  const subscriptionOf = (application: string) =>
    log.find(({ application_id }) => application_id === application)?.subscription_id ?? "";
  const middle = start + (total / 2) * second;

  test.each<[string, () => Partial<DeliveryFilter>, (one: Expected) => boolean]>([
    ["of a large application", () => ({ application_id: large }), (d) => d.application_id === large],
    ["of a smaller one", () => ({ application_id: half }), (d) => d.application_id === half],
    ["of a rare one", () => ({ application_id: rare }), (d) => d.application_id === rare],
    ["of one that has none", () => ({ application_id: none }), () => false],
    [
      "of a subscription",
      () => ({ application_id: half, subscription_id: subscriptionOf(half) }),
      (d) => d.subscription_id === subscriptionOf(half),
    ],
    ["of an event", () => ({ event_id: "e1234" }), (d) => d.event_id === "e1234"],
    [
      "of an event to one application",
      () => ({ event_id: "e7", application_id: rare }),
      (d) => d.event_id === "e7" && d.application_id === rare,
    ],
    ["of an event of others", () => ({ event_id: "e8", application_id: rare }), () => false],
    ["of an event that nobody published", () => ({ event_id: "lost" }), () => false],
    [
      "that failed",
      () => ({ application_id: large, status: "failed" }),
      (d) => d.application_id === large && d.status === "failed",
    ],
    [
      "that was missed",
      () => ({ application_id: large, status: "missed" }),
      (d) => d.application_id === large && d.status === "failed",
    ],
    [
      "of a broadcaster",
      () => ({ application_id: large, broadcaster_user_id: 3 }),
      (d) => d.application_id === large && d.broadcaster_user_id === 3,
    ],
    ["that is pending", () => ({ status: "pending" }), (d) => d.status === "pending"],
    ["that expired, which nothing did", () => ({ application_id: large, status: "expired" }), () => false],
    [
      "delivered, of a type",
      () => ({ application_id: half, status: "delivered", type: types[1] }),
      (d) => d.application_id === half && d.status === "delivered" && d.type === types[1],
    ],
    [
      "since a time",
      () => ({ application_id: large, after: middle }),
      (d) => d.application_id === large && d.published_at >= middle,
    ],
    [
      "before a time",
      () => ({ application_id: half, before: middle }),
      (d) => d.application_id === half && d.published_at < middle,
    ],
    ["of all, that failed", () => ({ status: "failed" }), (d) => d.status === "failed"],
  ])("paging returns each matching delivery once, in order: %s", async (_, filter, isExpected) => {
    const found = await loggedDeliveries(store, filter());
    expect(found.map(({ seq }) => seq)).toEqual(log.filter(isExpected).map(({ seq }) => seq));
  });

  test("a full last page has no next one", async () => {
    const pageOf = (limit: number) =>
      store.deliveries.page({ ...wholeLog, application_id: rare }, null, limit);
    expect([(await pageOf(3)).deliveries.length, (await pageOf(3)).next]).toEqual([3, null]);
    const part = await pageOf(2);
    expect([part.deliveries.length, part.next === null]).toEqual([2, false]);
  });

  test("a page reads only a part of the log, and returns where the next one starts", async () => {
    const filter = { ...wholeLog, application_id: large, broadcaster_user_id: broadcasters + 2 };
    const page = await store.deliveries.page(filter, null, 25);
    expect(page.deliveries).toEqual([]);
    expect(page.next).not.toBeNull();
    expect(page.next).toBeLessThan(log.at(-1)?.seq ?? 0);
  });

  test("an event is found at once, wherever it is in the log", async () => {
    const filter = { ...wholeLog, event_id: "e7" };
    const { deliveries, next } = await store.deliveries.page(filter, null, 100);
    expect(deliveries.map(({ event_id }) => event_id)).toEqual(["e7", "e7"]);
    expect(next).toBeNull();
  });

  test("shows an attempt with all its fields, and a delivery only within its scope", async () => {
    const failed = log.find(({ status, application_id }) => status === "failed" && application_id === half);
    const [shown] = (await loggedDeliveries(store, { application_id: half, status: "failed" })).slice(0, 1);
    expect(shown).toMatchObject({ seq: failed?.seq, status: "failed", next_attempt_at: null });
    expect(shown?.attempts).toEqual([attempt(500, shown?.finished_at ?? 0)]);
    const id = shown?.id ?? "";
    const { broadcaster_user_id: user } = failed ?? never();
    const scopes = [
      everything,
      { application_id: half, broadcaster_user_id: null },
      { application_id: half, broadcaster_user_id: user },
      { application_id: large, broadcaster_user_id: null },
      { application_id: null, broadcaster_user_id: user + 1 },
    ];
    const found = await Promise.all(scopes.map((scope) => store.deliveries.find(scope, id)));
    expect(found.map((one) => one?.body ?? null)).toEqual(["{}", "{}", "{}", null, null]);
    expect(await store.deliveries.find(everything, "unknown")).toBeNull();
  });

  test("pending deliveries of a subscription are counted, with the oldest", async () => {
    for (const application of [large, half]) {
      const subscription = subscriptionOf(application);
      const waiting = log.filter((d) => d.subscription_id === subscription && d.status === "pending");
      expect(waiting.length).toBeGreaterThan(0);
      expect(await store.deliveries.backlog(application, subscription)).toEqual({
        pending: waiting.length,
        oldest_pending_at: waiting[0]?.published_at ?? 0,
      });
    }
    expect(await store.deliveries.backlog(large, "none")).toEqual({ pending: 0, oldest_pending_at: null });
    expect(await store.deliveries.backlog(half, subscriptionOf(large))).toEqual({
      pending: 0,
      oldest_pending_at: null,
    });
  });

  test("pending deliveries of all applications are counted, with the oldest", async () => {
    const waiting = log.filter((d) => d.status === "pending");
    expect(await store.deliveries.backlogOfAll()).toEqual({
      pending: waiting.length,
      oldest_pending_at: waiting[0]?.published_at ?? 0,
    });
  });

  test("a stream gives all of an application, of one broadcaster, or of one shard, in order, from any number on", async () => {
    const read = async (
      applicationId: string,
      after: number,
      { userId = null, shard = null }: Partial<StreamScope> = {},
    ) => {
      const scope = { applicationId, userId, shard };
      const found: number[] = [];
      for (let from = after; ; ) {
        const { deliveries, upTo, isAll } = await store.deliveries.streamed(scope, from);
        found.push(...deliveries.map(({ seq }) => seq));
        expect(upTo).toBeGreaterThanOrEqual(deliveries.at(-1)?.seq ?? from);
        if (isAll) return found;
        from = upTo;
      }
    };
    const seqsOf = (isExpected: (d: Expected) => boolean) => log.filter(isExpected).map(({ seq }) => seq);
    expect(await read(large, 0)).toEqual(seqsOf((d) => d.application_id === large));
    expect(await read(rare, 0)).toEqual(seqsOf((d) => d.application_id === rare));
    const from = log[5_000]?.seq ?? 0;
    expect(await read(half, from, { userId: 2 })).toEqual(
      seqsOf((d) => d.application_id === half && d.seq > from && d.broadcaster_user_id === 2),
    );
    for (const [number, count] of [
      [1, 1],
      [1, 2],
      [2, 2],
      [1, 3],
      [3, 3],
      [64, 64],
    ] as const) {
      expect(await read(large, 0, { shard: { number, count } })).toEqual(
        seqsOf((d) => d.application_id === large && (d.broadcaster_user_id ?? 0) % count === number - 1),
      );
    }
    expect(await read(half, 0, { userId: 2, shard: { number: 1, count: 2 } })).toEqual(
      await read(half, 0, { userId: 2 }),
    );
    expect(await read(half, 0, { userId: 2, shard: { number: 2, count: 2 } })).toEqual([]);
    const last = await store.deliveries.last();
    expect(last).toBe(log.at(-1)?.seq ?? 0);
    expect(await read(large, last)).toEqual([]);
  });

  test("one read of a stream looks at a bounded part of the log, also for a shard that has nothing of it", async () => {
    const shard = { number: 64, count: 64 };
    const scope = { applicationId: large, userId: null, shard };
    const { deliveries, upTo, isAll } = await store.deliveries.streamed(scope, 0);
    expect([deliveries, isAll]).toEqual([[], false]);
    expect(upTo).toBeLessThan(log.at(-1)?.seq ?? 0);
  });

  test("the number of the last delivery before a time", async () => {
    for (const time of [start, start + 1, middle, middle + 1, start + total * second]) {
      const before = log.filter(({ published_at }) => published_at < time);
      const after = log.find(({ published_at }) => published_at >= time);
      const last = await store.deliveries.lastBefore(time);
      // If numbers have gaps, one between the two.
      expect(last).toBeGreaterThanOrEqual(before.at(-1)?.seq ?? 0);
      if (after) expect(last).toBeLessThan(after.seq);
    }
  });

  test("when the last delivery up to a number was published", async () => {
    expect(await store.deliveries.publishedUpTo(0)).toBeNull();
    const first = log[0] ?? never();
    for (const { seq, published_at } of [first, log[5_000] ?? never(), log.at(-1) ?? never()])
      expect(await store.deliveries.publishedUpTo(seq)).toBe(published_at);
    expect(await store.deliveries.publishedUpTo(first.seq - 1)).toBeNull();
    expect(await store.deliveries.publishedUpTo(Number.MAX_SAFE_INTEGER)).toBe(log.at(-1)?.published_at ?? 0);
  });
});

function attempt(status: number, at: number) {
  const timings = { dnsMs: 0.5, connectMs: null, tlsMs: null, firstByteMs: 11.25 };
  const response = 'a \0 and "quotes"\\';
  const outcome = status < 300 ? "ok" : "status";
  const exchange =
    outcome === "ok" ? null : { signature: "v1,c2ln", headers: { location: 'a "quoted" \\ one' } };
  return { generation: 0, at, outcome, status, duration_ms: 12, timings, error: null, response, exchange };
}

function resultOf({ seq }: DueDelivery, chance: number, at: number): AttemptResult {
  const rest = { seq, at, attempts: 1, extra_attempts: 0, generation: 0, resume_at: null };
  if (chance < 0.02) {
    return { ...rest, attempt: attempt(503, at), status: "pending", next_attempt_at: at + 5 * second };
  }
  const status = chance < 0.04 ? "failed" : "delivered";
  return { ...rest, attempt: attempt(status === "failed" ? 500 : 204, at), status, next_attempt_at: null };
}

function never(): never {
  throw new Error("this cannot be");
}

test("a claim returns first attempts in the order of publishing, then retries in the order of their times", async () => {
  const { store } = await ownStore();
  const application = await subscriber(store);
  for (const id of ["late", "early"]) await store.events.publish(newEvent(id), () => false);
  const { due } = await store.deliveries.claim(application, storedAt, 8);
  const retryAt = new Map([
    ["late", storedAt + 2_000],
    ["early", storedAt + 1_000],
  ]);
  const results = due.map((one) =>
    attemptResult(one, { status: "pending", next_attempt_at: retryAt.get(one.event.id) ?? null }),
  );
  await store.deliveries.record(results, []);
  for (const id of ["first", "second"]) await store.events.publish(newEvent(id), () => false);

  const again = await store.deliveries.claim(application, storedAt + 3_000, 8);
  expect(again.due.map(({ event }) => event.id)).toEqual(["first", "second", "early", "late"]);
});

test.each([
  ["of a retry", { status: "pending", next_attempt_at: storedAt }],
  [
    "of a delivery that went back into the store",
    { attempt: null, attempts: 0, status: "pending", next_attempt_at: 0 },
  ],
] as const)(
  "a result %s that is recorded again after the next claim does not let it be claimed twice",
  async (_, fields) => {
    const { store } = await ownStore();
    const application = await subscriber(store);
    await store.events.publish(newEvent("one"), () => false);
    const claim = async () => (await store.deliveries.claim(application, storedAt, 9)).due;
    const [due] = await claim();
    const result = attemptResult(due, fields);
    await store.deliveries.record([result], []);
    expect(await claim()).toHaveLength(1);
    await store.deliveries.record([result], []);
    expect(await claim()).toEqual([]);
  },
);

/*
 * A clock that was far ahead has given retries their time. PostgreSQL's own clock counts, too, so it is now here.
 */

const now = Date.now();

test("a retry of the schedule whose time is too far remains one of the schedule when it is made due", async () => {
  const { store } = await ownStore();
  const application = await subscriber(store);
  const far = { status: "pending", next_attempt_at: now + 1_000 * hour } as const;
  const ofSchedule = { ...far, resume_at: null };
  const asked = { ...far, resume_at: now + 2_000 * hour };
  const near = { status: "pending", next_attempt_at: now + 28 * hour, resume_at: null } as const;
  for (const id of ["of the schedule", "asked", "near"])
    await store.events.publish(newEvent(id), () => false);
  const { due } = await store.deliveries.claim(application, now, 8);
  expect(due).toHaveLength(3);
  const results = [ofSchedule, asked, near].map((fields, i) => attemptResult(due[i], fields));
  await store.deliveries.record(results, []);

  const makeDue = () => store.deliveries.makeFarRetriesDue(now, now + 30 * hour);
  expect([await makeDue(), await makeDue()]).toEqual([false, true]);
  const again = await store.deliveries.claim(application, now, 8);
  expect(again.due.map(({ event, resume_at }) => [event.id, resume_at])).toEqual([
    ["of the schedule", null],
    ["asked", now],
  ]);
});
