import { describe, expect, test } from "bun:test";
import { EndpointQueue, type EndpointState, type InFlightAttempt } from "../../../src/delivery/endpoint.ts";
import type { OutcomeClass, SendResult } from "../../../src/delivery/send/send.ts";
import type { Recipient } from "../../../src/domain/applications.ts";
import type { AttemptResult, DueDelivery } from "../../../src/domain/deliveries.ts";
import { newEndpoint } from "../../../src/domain/endpoints.ts";
import { hour, second } from "../../../src/domain/time.ts";

const now = 1_000_000;

const recipient: Recipient = {
  delivery: "webhook",
  webhook_url: "https://receiver.example",
  webhook_headers: [],
  webhook_secret: "whsec_",
  retired_webhook_secrets: [],
  webhook_concurrency: null,
  endpoint_generation: 1,
};
const changed: Recipient = { ...recipient, webhook_secret: "whsec_other" };

/** The fields of a delivery that an endpoint reads. */
const delivery = (seq: number, attempts = 0) =>
  ({ seq, attempts, subscription_id: `of ${seq}`, isSubscribed: true }) as DueDelivery;

const answered = (status: number | null, outcome: OutcomeClass = status === 204 ? "ok" : "status") => {
  const timings = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null };
  const rest = { retryAfterMs: null, durationMs: 1, responseBody: "", timings, repeated: false };
  return { ...rest, class: outcome, status, error: outcome === "ok" ? null : "no" } satisfies SendResult;
};

const recorded = (generation: number, next_attempt_at: number | null) =>
  ({ generation, next_attempt_at }) as AttemptResult;

type Change = (queue: EndpointQueue) => void;

const lookUp =
  (found: Recipient | null = recipient, stored = newEndpoint("application", 1)): Change =>
  (queue) => {
    const begun = queue.beginLookUp();
    if (begun === null) throw new Error("A look-up is in progress.");
    queue.lookedUp(begun, found, stored, now);
    queue.endLookUp();
  };
const add =
  (...seqs: number[]): Change =>
  (queue) => {
    for (const seq of seqs) queue.add(delivery(seq));
  };
const addRetries =
  (...seqs: number[]): Change =>
  (queue) => {
    for (const seq of seqs) queue.add(delivery(seq, 1));
  };
const claim =
  (hasBacklog: boolean, asNew = 0): Change =>
  (queue) => {
    queue.beginClaim();
    queue.claimed(asNew, { hasBacklog, retryAt: null });
    queue.endClaim();
  };
const begin = (queue: EndpointQueue, by = recipient): InFlightAttempt => {
  const one = queue.take();
  if (!one) throw new Error("No delivery is in memory.");
  return queue.begin(one, by, queue.priority, now);
};
const attempt =
  (...results: SendResult[]): Change =>
  (queue) => {
    for (const sent of results) {
      queue.add(delivery(1));
      const made = begin(queue);
      queue.end(made);
      queue.expectResult();
      queue.learn(made, sent, now, 0.5);
      queue.noteRecorded(recorded(1, null), now);
    }
  };
const refused = answered(null, "refused");

const after = (...changes: Change[]): EndpointQueue => {
  const queue = new EndpointQueue("application", 2);
  for (const change of changes) change(queue);
  return queue;
};

const disabled = { ...newEndpoint("application", 1), disabled_at: now, disabled_reason: "gone" as const };
const paused = { ...newEndpoint("application", 1), failing_since: now, paused_until: now + second };

describe("the state of an endpoint", () => {
  const known = [lookUp(), add(1)] as const;
  const blocked = [...known, attempt(answered(503))] as const;
  test.each<[EndpointState, string, readonly Change[]]>([
    ["unknown", "at first", []],
    ["unknown", "while it is looked up", [(queue) => queue.beginLookUp()]],
    ["idle", "once it is known", [lookUp()]],
    ["idle", "without a recipient", [lookUp(null)]],
    ["ready", "without a recipient, so that its deliveries are canceled", [lookUp(null, disabled), add(1)]],
    ["ready", "with a delivery in memory", known],
    ["idle", "with deliveries in the store alone", [lookUp(), (queue) => queue.noteLeftInStore(1)]],
    ["claiming", "while the store reads them", [lookUp(), (queue) => queue.beginClaim()]],
    ["ready", "while the store reads more", [...known, (queue) => queue.beginClaim()]],
    [
      "full",
      "with as many attempts as it may have",
      [lookUp(), add(1, 2, 3), (queue) => begin(queue), (queue) => begin(queue)],
    ],
    ["ready", "with one of them less", [lookUp(), add(1, 2, 3), (queue) => begin(queue)]],
    ["ready", "after a success", [...known, attempt(answered(204))]],
    ["ready", "after four failures", [...known, attempt(refused, refused, refused, refused)]],
    ["blocked", "after five", [...known, attempt(refused, refused, refused, refused, refused)]],
    ["blocked", "after throttling", blocked],
    ["ready", "once a user asked to send", [...blocked, (queue) => queue.sendNow(now)]],
    ["blocked", "when a pause is read", [lookUp(recipient, paused), add(1)]],
    [
      "ready",
      "when a pause is read after a user asked to send",
      [(queue) => queue.sendNow(now), lookUp(recipient, paused), add(1)],
    ],
    ["blocked", "when a pause is restored", [(queue) => queue.restore(paused, now), lookUp(), add(1)]],
    ["ready", "when the pause of a former generation is", [...known, (queue) => queue.restore(paused, now)]],
    ["disabled", "after a 410", [...known, attempt(answered(410))]],
    ["disabled", "when that is read", [lookUp(recipient, disabled)]],
    [
      "disabled",
      "although a user asked to send",
      [lookUp(recipient, disabled), (queue) => queue.sendNow(now)],
    ],
    ["unknown", "after it is enabled", [lookUp(recipient, disabled), (queue) => queue.enabled(2, now)]],
    [
      "ready",
      "after it is enabled and looked up",
      [
        lookUp(recipient, disabled),
        (queue) => queue.enabled(2, now),
        lookUp({ ...recipient, endpoint_generation: 2 }, newEndpoint("application", 2)),
        add(1),
      ],
    ],
    ["unknown", "after its application has changed", [...known, (queue) => queue.applicationChanged(1, now)]],
    ["unknown", "after it may have changed", [...known, (queue) => queue.applicationMayHaveChanged()]],
    [
      "idle",
      "without a recipient, and no delivery",
      [lookUp(null), (queue) => queue.receivesWebhooks(), lookUp()],
    ],
    [
      "unknown",
      "when deliveries show that there is one",
      [lookUp(null), (queue) => queue.receivesWebhooks()],
    ],
    ["ready", "when deliveries show what is known", [...known, (queue) => queue.receivesWebhooks()]],
    ["lost", "when another process owns it", [...known, (queue) => queue.lose()]],
    [
      "lost",
      "whatever else happens",
      [(queue) => queue.lose(), lookUp(), add(1), (queue) => queue.enabled(2, now)],
    ],
  ])("%s: %s", (state, _, changes) => {
    expect(after(...changes).state(now)).toBe(state);
  });

  test("ends a block when its time has come, and wakes then", () => {
    const queue = after(lookUp(recipient, paused), add(1));
    expect(queue.wakeAt()).toBe(now + second);
    expect([queue.state(now + second - 1), queue.state(now + second)]).toEqual(["blocked", "ready"]);
  });

  test("wakes for a retry, for none while it is disabled, and never once it is lost", () => {
    const retryLater: Change = (queue) => queue.scheduleRetry(now + hour);
    expect(after(lookUp(), retryLater).wakeAt()).toBe(now + hour);
    expect(after(lookUp(recipient, disabled), retryLater).wakeAt()).toBeNull();
    expect(after(lookUp(), retryLater, (queue) => queue.lose()).wakeAt()).toBeNull();
    expect(after(lookUp()).wakeAt()).toBeNull();
  });

  test("a look-up that began before a change is discarded", () => {
    const queue = after();
    const begun = queue.beginLookUp() ?? -1;
    expect(queue.beginLookUp()).toBeNull();
    queue.applicationChanged(1, now);
    queue.lookedUp(begun, recipient, null, now);
    queue.endLookUp();
    expect(queue.state(now)).toBe("unknown");
    expect(queue.beginLookUp()).not.toBeNull();
  });
});

describe("deliveries of an endpoint", () => {
  test.each<[boolean, string, readonly Change[]]>([
    [true, "where nothing waits", []],
    [true, "although retries are due", [(queue) => queue.scheduleRetry(now - 1)]],
    [false, "not before first attempts in the store", [(queue) => queue.noteLeftInStore(1)]],
    [false, "not while some are being claimed", [(queue) => queue.beginClaim()]],
    [true, "after a claim that left none", [(queue) => queue.noteLeftInStore(1), claim(false)]],
    [false, "not after a claim that failed", [(queue) => queue.claimed(0, null)]],
    [false, "not while first attempts return to the store", [add(1), (queue) => queue.recall()]],
    [true, "while retries return", [addRetries(1), (queue) => queue.recall()]],
    [false, "not while it is blocked", [lookUp(recipient, paused)]],
    [
      false,
      "not while its circuit waits for a probe",
      [lookUp(), attempt(...Array(5).fill(refused)), (queue) => queue.sendNow(now)],
    ],
    [false, "not while it is disabled", [lookUp(recipient, disabled)]],
  ])("go into memory when they are published (%p): %s", (canTake, _, changes) => {
    expect(after(...changes).canTake(now)).toBe(canTake);
  });

  test.each<[boolean, string, readonly Change[]]>([
    [false, "nothing waits", []],
    [true, "first attempts wait", [(queue) => queue.noteLeftInStore(1)]],
    [false, "they wait, and enough is in memory", [(queue) => queue.noteLeftInStore(1), add(1, 2, 3, 4)]],
    [true, "retries are due", [(queue) => queue.scheduleRetry(now)]],
    [
      true,
      "retries are due, and first attempts in memory",
      [(queue) => queue.scheduleRetry(now), add(1, 2, 3, 4)],
    ],
    [
      false,
      "retries are due, and enough in memory",
      [(queue) => queue.scheduleRetry(now), addRetries(1, 2, 3, 4)],
    ],
    [false, "retries are not due yet", [(queue) => queue.scheduleRetry(now + 1)]],
    [false, "a claim is in progress", [(queue) => queue.beginClaim(), (queue) => queue.scheduleRetry(now)]],
    [false, "others are being published", [(queue) => queue.noteLeftInStore(1), (queue) => queue.reserve()]],
    [
      false,
      "older ones are on their way back",
      [(queue) => queue.noteLeftInStore(1), add(1), (queue) => queue.recall()],
    ],
    [false, "it is blocked", [attempt(answered(503)), (queue) => queue.noteLeftInStore(1)]],
    [false, "it is lost", [(queue) => queue.noteLeftInStore(1), (queue) => queue.lose()]],
  ])("are claimed from the store (%p): %s", (needsClaim, _, changes) => {
    expect(after(lookUp(), ...changes).needsClaim(now)).toBe(needsClaim);
  });

  test("are not claimed before the application is known", () => {
    expect(after((queue) => queue.noteLeftInStore(1)).needsClaim(now)).toBe(false);
  });

  test.each<[EndpointQueue["priority"], string, readonly Change[]]>([
    ["new", "a first attempt is in memory", [add(1)]],
    ["backlog", "only retries are", [(queue) => queue.scheduleRetry(now), addRetries(1)]],
    ["backlog", "older first attempts were found in the store", [(queue) => queue.noteFound(0), add(1)]],
    ["new", "those in the store are new", [(queue) => queue.noteLeftInStore(1)]],
    [
      "backlog",
      "a bulk began them",
      [(queue) => queue.noteLeftInStore(1_000), (queue) => queue.noteLeftInStore(1)],
    ],
    [
      "new",
      "new ones were there before a bulk's claims",
      [(queue) => queue.noteLeftInStore(1), claim(true, 2)],
    ],
    [
      "backlog",
      "new ones are claimed for the last time",
      [(queue) => queue.noteLeftInStore(1), claim(true, 1)],
    ],
  ])("have the priority %s: %s", (priority, _, changes) => {
    expect(after(...changes).priority).toBe(priority);
  });

  test("are of a bulk until the first attempts up to its last one have started", () => {
    const queue = after(add(1), (one) => one.add(delivery(2), true), add(3));
    const taken = [1, 2, 3].map(() => {
      const { priority } = queue;
      return [priority, queue.take()?.seq];
    });
    expect(taken).toEqual([
      ["bulk", 1],
      ["bulk", 2],
      ["new", 3],
    ]);
  });

  test("that return to the store are claimed from there, and keep the endpoint busy until then", () => {
    const queue = after(lookUp(), add(1), addRetries(2));
    const recalled = queue.recall();
    expect([recalled.map(({ seq }) => seq), queue.isBusy, queue.queued]).toEqual([[1, 2], true, 0]);
    for (const one of recalled) queue.returned(one, now);
    expect([queue.isBusy, queue.hasMore, queue.needsClaim(now)]).toEqual([false, true, true]);
  });

  test("keep the endpoint busy while they return, retries too", () => {
    const queue = after(lookUp(), addRetries(1));
    const [recalled] = queue.recall();
    expect([queue.isBusy, queue.isForgettable]).toEqual([true, false]);
    if (recalled) queue.returned(recalled, now);
    expect(queue.isBusy).toBe(false);
  });

  test("are in the hands of the next owner once the endpoint is lost", () => {
    const queue = after(lookUp(), add(1, 2));
    const made = begin(queue);
    expect(queue.lose().map(({ seq }) => seq)).toEqual([2]);
    expect(made.mayBeWritten).toBe(false);
    queue.end(made);
    expect(queue.learn(made, answered(410), now, 0.5)).toBeNull();
    expect(queue.endpoint.disabled_at).toBeNull();
  });
});

describe("an attempt in progress", () => {
  test.each<[boolean, string, Change]>([
    [true, "nothing has changed", () => {}],
    [false, "its application has changed", (queue) => queue.applicationChanged(1, now)],
    [false, "its application may have changed", (queue) => queue.applicationMayHaveChanged()],
    [false, "its subscription was removed", (queue) => queue.unsubscribe(new Set(["of 1"]))],
    [true, "another subscription was removed", (queue) => queue.unsubscribe(new Set(["of 2"]))],
  ])("may be written (%p): %s", (mayBeWritten, _, change) => {
    const queue = after(lookUp(), add(1, 2));
    const made = begin(queue);
    change(queue);
    expect(made.mayBeWritten).toBe(mayBeWritten);
  });

  test.each([
    ["goes on", recipient, true],
    ["ends, if the application has changed", changed, false],
  ])("in doubt is settled by the look-up: it %s", (_, found, mayBeWritten) => {
    const queue = after(lookUp(), add(1));
    const made = begin(queue);
    let canceled = 0;
    made.connecting(() => canceled++);
    queue.applicationMayHaveChanged();
    expect([made.isInDoubt, canceled]).toEqual([true, 0]);
    lookUp(found)(queue);
    expect([made.mayBeWritten, canceled]).toEqual([mayBeWritten, mayBeWritten ? 0 : 1]);
  });

  test("to a former generation counts neither for the new one nor against its concurrency", () => {
    const queue = after(lookUp(), add(1, 2));
    const made = begin(queue);
    expect(queue.applicationChanged(2, now)).toBe(true);
    lookUp({ ...recipient, endpoint_generation: 2 }, newEndpoint("application", 2))(queue);
    expect([made.isFormer, queue.state(now)]).toEqual([true, "ready"]);
    queue.end(made);
    queue.expectResult();
    expect(queue.learn(made, answered(410), now, 0.5)).toBeNull();
    expect(queue.state(now)).toBe("ready");
    queue.noteRecorded(recorded(1, null), now);
    expect(queue.isBusy).toBe(false);
  });
});

describe("the outcome of an attempt", () => {
  test.each<[OutcomeClass, boolean]>([
    ["status", true],
    ["dns", true],
    ["blocked", true],
    ["refused", true],
    ["unreachable", true],
    ["tls", true],
    ["reset", true],
    ["timeout", true],
    ["protocol", true],
    ["too_large", true],
    ["proxy", false],
    ["internal", false],
    ["canceled", false],
  ])("%s counts against the endpoint: %p", (outcome, counts) => {
    const queue = after(lookUp(), add(1));
    const made = begin(queue);
    queue.end(made);
    const learned = queue.learn(made, answered(null, outcome), now, 0.5);
    expect(learned?.endpoint?.failing_since ?? null).toBe(counts ? now : null);
    expect(queue.endpoint.failing_since).toBe(counts ? now : null);
  });

  test("successes are stored every five seconds, also when the clock was set back", () => {
    const queue = after(lookUp());
    const times = [hour, hour + 4_999, hour + 5_000, 1, 5_000, 5_001];
    const stored = times.map((at) => {
      add(1)(queue);
      const made = begin(queue);
      queue.end(made);
      return queue.learn(made, answered(204), at, 0.5)?.endpoint != null;
    });
    expect(stored).toEqual([true, false, true, true, false, true]);
    expect(queue.endpoint.last_success_at).toBe(5_001);
  });

  test("is shifted with the clock, and stored where it has times", () => {
    expect(after(lookUp()).shiftClock(hour)).toBeNull();
    const queue = after(lookUp(recipient, paused), add(1));
    expect(queue.shiftClock(hour)).toMatchObject({
      failing_since: now + hour,
      paused_until: now + hour + second,
    });
    expect(queue.wakeAt()).toBe(now + hour + second);
  });
});
