import { newWebhookSecret } from "../../../src/delivery/signature.ts";
import type { Application } from "../../../src/domain/applications.ts";
import type { DeliveryRecord } from "../../../src/domain/deliveries.ts";
import { type Endpoint, keepDisabledMs } from "../../../src/domain/endpoints.ts";
import { BatchRefused, DomainError } from "../../../src/domain/errors.ts";
import type { Store } from "../../../src/domain/store.ts";
import { day, hour, second } from "../../../src/domain/time.ts";
import { userFrom } from "../../../src/domain/users.ts";
import { keptLog } from "../log.ts";
import { loggedDeliveries, newEvent, storedApplication, type TestStore } from "../store.ts";
import { VirtualTime } from "../virtual-time.ts";
import { type EngineProcess, engineProcess, type Start } from "./engine-process.ts";
import { eventType, type FilterName, followers, nameOf } from "./filters.ts";
import { answerOf, boundsMs, Promises } from "./promises.ts";
import { Receivers, type SeenAttempt } from "./receivers.ts";

/** What is known of an application from outside of the engine. */
export interface KnownApplication {
  readonly id: string;
  /** As the last commit left it; null: removed. */
  committed: Application | null;
  /** Changes that are asked for and not acknowledged: meanwhile either state may hold. */
  changing: number;
  /** The filters that may be in force: those of the last commit, and those that are asked for. */
  filters: Set<FilterName>;
  /** How often other filters were asked for. */
  filtersAsked: number;
  /** Since then waits may be shorter: a person has asked for something, the clock was set, a process has begun. */
  excusedAt: number;
  /** Until then its receiver has asked to be left alone. */
  pausedUntil: number;
  /** Since when its receiver takes each attempt at once, while nothing but time passes; null: something else happens. */
  wellSince: number | null;
  /** The generation of its endpoint that is disabled: it has answered 410, or only failed for 24 hours. */
  disabledGeneration: number | null;
  /** The first failure since the last success, where it is certain which generation was called; null: none is known. */
  failingSince: number | null;
  /** When the state of its endpoint began at the earliest, and since when it may have failed only. */
  generationSince: number;
  mayFailSince: number | null;
  /** When there was last a reason to disable its endpoint; null: never. */
  mayDisableAt: number | null;
  /** When the first of the changes was asked for that are not acknowledged. */
  changingSince: number;
  /** Whether anything went wrong since the process began, or the generation. */
  hadTrouble: boolean;
  wasDisabled: boolean;
  wasStream: boolean;
  generations: number;
  replays: number;
}

const newlyKnown = (id: string): KnownApplication => ({
  id,
  committed: null,
  changing: 0,
  filters: new Set(["none"]),
  filtersAsked: 0,
  excusedAt: 0,
  pausedUntil: 0,
  wellSince: null,
  disabledGeneration: null,
  failingSince: null,
  generationSince: 0,
  mayFailSince: null,
  mayDisableAt: null,
  changingSince: 0,
  hadTrouble: false,
  wasDisabled: false,
  wasStream: false,
  generations: 0,
  replays: 0,
});

export interface KnownSubscription {
  readonly id: string;
  readonly application: KnownApplication;
  readonly broadcaster: number;
  /** Whether its removal was asked for, and then acknowledged. */
  removal: "none" | "asked" | "acknowledged";
}

/** A failed attempt. The next one follows after `shortestMs` at least and, where that is promised, `longestMs` at most. */
interface KnownFailure {
  readonly began: number;
  readonly at: number;
  /** The `Retry-After` of the answer; 0 for none. */
  readonly askedMs: number;
  readonly shortestMs: number;
  readonly longestMs: number;
}

export interface KnownDelivery {
  readonly id: string;
  readonly subscription: KnownSubscription;
  readonly sequence: number;
  readonly event: string;
  /** The index of the attempt by which its first attempt is made; null: none is. */
  firstMade: number | null;
  attempts: number;
  /** What its receiver answered, in order, without what no log has because a process was killed. */
  answered: string[];
  underWay: SeenAttempt | null;
  /** Whether a receiver took it, and did at any time. */
  isTaken: boolean;
  wasTaken: boolean;
  wasGone: boolean;
  /** How often it was asked for by its id, and how often it was sent although it was taken. */
  retries: number;
  repeats: number;
  lastFailure: KnownFailure | null;
  /** A process has ended while it connected: attempts of a lower index, of what is behind it, may be first. */
  lateUntil: number;
}

export const newlyKnownDelivery = (
  its: Pick<KnownDelivery, "id" | "subscription" | "sequence" | "event">,
): KnownDelivery => ({
  ...its,
  firstMade: null,
  attempts: 0,
  answered: [],
  underWay: null,
  isTaken: false,
  wasTaken: false,
  wasGone: false,
  retries: 0,
  repeats: 0,
  lastFailure: null,
  lateUntil: 0,
});

export const broadcasters = [1, 2] as const;
export const applicationIds = ["A", "B", "C"] as const;
/** Half of the connections, which one endpoint may have, are more than its concurrency: that is what ends its attempts. */
const limits = { concurrency: 4, connections: 24 };
const retention = { deliveredMs: hour, failedMs: 2 * day, bodiesMs: hour };
/**
 * A run publishes few events at once when it has published this many: of more, a receiver that refuses the first attempts
 * of each takes the last only after days.
 */
const mostEvents = 700;
const few = 10;
/** An engine that is stopped ends within this virtual time, unless something hangs. */
const longestStopMs = hour;
/** Of processor time, because other programs may use the machine as well. */
const longestRestMs = 10 * second;

/** A small platform on a real store, whose engine is stopped and killed, and whose promises are watched. */
export class Platform {
  readonly time = new VirtualTime();
  readonly #lines: string[] = [];
  readonly #log = keptLog("error", this.time.now);
  readonly promises = new Promises(limits, this.time, (line) => this.say(line));
  readonly receivers = new Receivers(this.promises, this.time.monotonic, this.time.timers);
  /** How many deliveries were acknowledged for each event. */
  readonly acknowledged = new Map<string, number>();
  #store: Store;
  process!: EngineProcess;
  /** What retention has removed of the log, as it was then. */
  readonly removed: DeliveryRecord[] = [];
  #isOver = false;
  #events = 0;
  #hosts = 0;

  constructor(readonly opened: TestStore) {
    this.#store = opened.store;
  }

  readonly say = (line: string) => void this.#lines.push(line);

  async begin(): Promise<void> {
    for (const id of applicationIds) {
      await storedApplication(this.#store, {
        id,
        webhook_url: this.newUrl(),
        webhook_secret: newWebhookSecret(),
      });
      const committed = await this.#store.applications.find(id);
      this.promises.applications.set(id, { ...newlyKnown(id), committed });
      for (const broadcaster of broadcasters) await this.subscribe(this.application(id), broadcaster);
    }
    if (this.promises.subscriptions.size === 0) throw new Error("not subscribed");
    await this.#start();
    // What begins at the moment of a start is excused from waits.
    await this.time.pass(1, () => this.settle());
  }

  application(id: string): KnownApplication {
    return this.promises.applications.get(id) as KnownApplication;
  }

  newUrl(): string {
    return `https://host-${this.#hosts++}.test/`;
  }

  /** Lets the engine do what it does without the passing of time. */
  async settle(): Promise<void> {
    if (this.#isOver) throw new Error("the run is over");
    const began = process.cpuUsage();
    for (let quiet = 0; quiet < 4; ) {
      const before = this.process.activity;
      await turn();
      quiet = this.process.gates.inStore === 0 && this.process.activity === before ? quiet + 1 : 0;
      const { user, system } = process.cpuUsage(began);
      if (user + system > longestRestMs * 1_000) throw new Error("the engine never comes to rest");
    }
  }

  async turns(count: number): Promise<void> {
    for (let i = 0; i < count; i++) await turn();
  }

  async pass(ms: number): Promise<void> {
    const { gates } = this.process;
    const well = [...this.promises.applications.values()].filter((one) => gates.areOpen && this.#isWell(one));
    for (const one of well) one.wellSince = this.time.monotonic();
    await this.time.pass(ms, () => this.settle());
    for (const one of well) one.wellSince = null;
    const endpoints = await this.#store.endpoints.failing();
    for (const one of endpoints) this.promises.disabled(one);
    for (const one of well.filter((one) => this.#isWell(one)))
      if (ms >= boundsMs[one.hadTrouble ? "recovering" : "healthy"]) await this.#checkGotAll(one, endpoints);
  }

  #isWell({ committed, changing }: KnownApplication): boolean {
    const isReceiving = committed !== null && !committed.disabled && committed.delivery !== "stream";
    if (!isReceiving || changing > 0) return false;
    return this.receivers.isWell(new URL(committed.webhook_url ?? "").host);
  }

  async #checkGotAll({ id }: KnownApplication, endpoints: readonly Endpoint[]): Promise<void> {
    if (endpoints.some((one) => one.application_id === id && one.disabled_at !== null)) return;
    const pending = await loggedDeliveries(this.#store, { application_id: id, status: "pending" });
    const waiting = pending.filter(({ attempts }) => attempts.length === 0);
    if (waiting.length > 0) this.promises.problems.push(`${waiting.length} wait for the healthy ${id}`);
  }

  async publish(broadcaster: number, count: number, livesMs: number | null): Promise<void> {
    const published_at = this.time.now();
    const fields = { broadcaster_user_id: broadcaster, published_at };
    const expires_at = livesMs === null ? null : published_at + livesMs;
    const length = Math.min(count, Math.max(few, mostEvents - this.#events));
    const about = Array.from({ length }, () => {
      const number = ++this.#events;
      return { id: `e${number}`, follower: followers[number % followers.length] ?? "ada" };
    });
    const events = about.map(({ id, follower }) => {
      const body = JSON.stringify({ data: { follower: { username: follower } } });
      return newEvent(id, { ...fields, body, expires_at });
    });
    if (expires_at !== null) for (const { id } of events) this.promises.expiring.set(id, expires_at);
    const { sink } = this.process;
    const { filtering, applications, subscriptions } = this.promises;
    const its = [...subscriptions.values()].filter((one) => one.broadcaster === broadcaster);
    const ended = filtering.begin(about, applications.values(), its);
    const publishing = length <= 3 ? Promise.all(events.map(sink.publish)) : sink.publishAll(events);
    const made = await publishing.finally(ended);
    for (const { id, deliveries } of made) this.acknowledged.set(id, deliveries);
  }

  /** A change of an application, of which either state may hold until it is acknowledged. */
  async changing(application: KnownApplication, change: (store: Store) => Promise<unknown>): Promise<void> {
    if (application.changing++ === 0) application.changingSince = this.time.monotonic();
    const process = this.process;
    try {
      await change(process.store);
    } finally {
      if (process === this.process) {
        await this.#look(application);
        if (--application.changing === 0) this.#lookAtFilters(application);
      }
    }
  }

  /** Reads how it is in the store. */
  async #look(application: KnownApplication): Promise<void> {
    const before = application.committed;
    const now = await this.#store.applications.find(application.id);
    application.committed = now;
    application.wasDisabled ||= now?.disabled !== false;
    application.wasStream ||= now?.delivery === "stream";
    if (before?.endpoint_generation === now?.endpoint_generation) return;
    this.promises.renewed(application);
  }

  /** No change is under way: only the stored filters are in force. */
  #lookAtFilters(application: KnownApplication): void {
    application.filters = new Set([nameOf(application.committed?.filters ?? {})]);
  }

  async subscribe(application: KnownApplication, broadcaster: number): Promise<void> {
    const user = userFrom({ id: broadcaster, username: `user_${broadcaster}` });
    await this.#store.users.upsert([user], "2026-01-14T16:00:00.000Z");
    const wanted = [{ broadcaster_user_id: broadcaster, ...eventType }];
    const request = { applicationId: application.id, wanted, limit: 100 };
    const { removed } = this.promises;
    const { results } = await this.#store.subscriptions.subscribe(request, this.time.now());
    const [result] = results;
    // The user or the application may be removed at the same time.
    if (!result || !("id" in result)) return;
    this.promises.subscribed({ id: result.id, application, broadcaster, removal: "none" }, removed);
  }

  async lookForSubscription(one: KnownSubscription): Promise<void> {
    if ((await this.#store.subscriptions.find(one.application.id, one.id)) === null)
      one.removal = "acknowledged";
  }

  setClock(byMs: number): void {
    this.time.setClock(byMs);
    for (const one of this.promises.applications.values()) this.promises.excuse(one);
  }

  async restart(how: "stop" | "kill", start: Start = "well"): Promise<void> {
    this.promises.processEnds();
    const process = this.process;
    if (how === "kill") {
      process.kill();
      await this.settle();
    } else {
      const stopped = process.stop().then(() => true);
      const until = this.time.monotonic() + longestStopMs;
      while (!(await Promise.race([stopped, this.turns(50).then(() => false)]))) {
        if (this.time.monotonic() > until) throw new Error("the engine does not stop");
        await this.time.pass(1_000, () => this.settle());
      }
      await this.settle();
      process.kill();
    }
    this.time.forget();
    this.#store = await this.opened.reopen();
    await this.#start(start);
  }

  readonly end = () => this.process.stop();

  /** Takes over what the store has: the next process knows nothing else. */
  async #start(start: Start = "well"): Promise<void> {
    const { applications, subscriptions } = this.promises;
    const endpoints = await this.#store.endpoints.failing();
    for (const one of applications.values()) {
      one.changing = 0;
      await this.#look(one);
      this.#lookAtFilters(one);
      const endpoint = endpoints.find(({ application_id }) => application_id === one.id);
      this.promises.restored(one, endpoint ?? null, this.time.now());
    }
    for (const one of subscriptions.values()) {
      one.removal = "none";
      await this.lookForSubscription(one);
    }
    for (const one of await loggedDeliveries(this.#store)) {
      const delivery = this.promises.ofRecord(one);
      const { application } = delivery.subscription;
      // That it had ended without an attempt was not recorded.
      if (application.wasDisabled || application.wasStream) delivery.lateUntil = this.promises.attempts;
      const logged = one.attempts.map(answerOf);
      if (!isPartOf(logged, delivery.answered))
        this.promises.problems.push(`${one.sequence} has ${logged} in the log, not ${delivery.answered}`);
      delivery.answered = logged;
      delivery.attempts = one.attempts.length;
      delivery.isTaken = one.status === "delivered";
    }
    this.process = engineProcess({
      store: this.#store,
      time: this.time,
      receivers: this.receivers,
      log: this.#log.log,
      start,
      ...limits,
    });
    await this.settle();
  }

  /** The log, with what retention has removed of it. */
  readonly log = async () => [...this.removed, ...(await loggedDeliveries(this.#store))];

  /** Removes what is old, and drops what was kept for an endpoint that is disabled for long. */
  async cleanUp(): Promise<void> {
    const now = this.time.now();
    const before = await loggedDeliveries(this.#store);
    const disabled = (await this.#store.endpoints.failing()).filter(
      ({ disabled_at }) => disabled_at !== null && disabled_at < now - keepDisabledMs,
    );
    for (const { application_id } of disabled) {
      const dropped = this.promises.droppedOf(this.application(application_id));
      for (const { event_id, published_at } of before)
        if (published_at < now - keepDisabledMs) dropped.add(event_id);
    }
    const { prune, trim, shrink } = this.#store.retention;
    for (const step of [() => prune(retention, now), () => trim(1), shrink]) while (!(await step()));
    await trim(null);
    const kept = new Set((await loggedDeliveries(this.#store)).map(({ id }) => id));
    this.removed.push(...before.filter(({ id }) => !kept.has(id)));
  }

  /** Ends the engine of a run that is over, so that none of its retries goes on in another run. */
  kill(): void {
    this.#isOver = true;
    this.process?.kill();
    this.time.forget();
  }

  /** Waits for nothing: an answer may be held up, or never come. */
  begun(work: Promise<unknown>, name: string): void {
    work.catch((error: unknown) => {
      const isRefused = error instanceof DomainError || error instanceof BatchRefused;
      if (!isRefused) this.promises.problems.push(`${name}: ${error}`);
    });
  }

  /** Throws with all that has happened where a promise was broken. */
  check(): void {
    const { queued, inFlight, unrecorded } = this.process.dispatcher.stats;
    if (Math.min(queued, inFlight, unrecorded) < 0) this.promises.problems.push("a count is below nothing");
    if (this.promises.problems.length === 0) return;
    throw new Error([...this.promises.problems, ...this.#lines.slice(-120)].join("\n"));
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Whether all of `some` are in `all`, in this order. */
function isPartOf(some: readonly string[], all: readonly string[]): boolean {
  let found = 0;
  for (const one of all) if (one === some[found]) found++;
  return found === some.length;
}
