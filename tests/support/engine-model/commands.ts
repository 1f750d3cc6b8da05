import fc from "fast-check";
import { newWebhookSecret } from "../../../src/delivery/signature.ts";
import type { ApplicationChanges } from "../../../src/domain/applications.ts";
import { everything } from "../../../src/domain/deliveries.ts";
import { newId } from "../../../src/domain/ids.ts";
import { day, hour, minute, second } from "../../../src/domain/time.ts";
import { type Gate, starts, ways } from "./engine-process.ts";
import { type FilterName, filterNames, filters, nameOf } from "./filters.ts";
import {
  applicationIds,
  broadcasters,
  type KnownApplication,
  type KnownSubscription,
  type Platform,
} from "./platform.ts";
import { boundsMs } from "./promises.ts";
import { type Answer, answers } from "./receivers.ts";

/** What operators and developers ask for while the engine runs. Each resolves when it is acknowledged. */

export function update(on: Platform, application: KnownApplication, changes: ApplicationChanges) {
  if (changes.disabled) application.wasDisabled = true;
  if (changes.delivery === "stream") application.wasStream = true;
  return on.changing(application, (store) =>
    store.applications.update(application.id, changes, on.time.now()),
  );
}

const changeUrl = (on: Platform, application: KnownApplication) =>
  update(on, application, { webhook_url: on.newUrl() });

export function rotate(on: Platform, application: KnownApplication) {
  const rotation = { now: on.time.now(), overlapMs: 0 };
  return on.changing(application, (store) =>
    store.applications.rotateWebhookSecret(application.id, newWebhookSecret(), rotation),
  );
}

export const enable = (on: Platform, application: KnownApplication) =>
  on.changing(application, () => on.process.dispatcher.enable(application.id));

/** Sets filters in place of all others. Where nothing else changes meanwhile, they are stored when that is acknowledged. */
export async function setFilters(on: Platform, application: KnownApplication, to: FilterName): Promise<void> {
  const isAlone = application.changing === 0;
  on.promises.filtering.asked(application, to);
  const asked = ++application.filtersAsked;
  await update(on, application, { filters: filters[to].changes });
  if (!isAlone || application.filtersAsked !== asked || application.committed === null) return;
  if (nameOf(application.committed.filters) !== to)
    on.promises.problems.push(`${application.id} has not the filters "${to}", which were acknowledged`);
}

function removeApplication(on: Platform, application: KnownApplication) {
  application.wasDisabled = true;
  return unsubscribing(
    on,
    (one) => one.application === application,
    () => on.changing(application, (store) => store.applications.remove(application.id, on.time.now())),
  );
}

/** Removes a broadcaster, who comes back with the next subscription. */
export const removeUser = (on: Platform, broadcaster: number) =>
  unsubscribing(
    on,
    (one) => one.broadcaster === broadcaster,
    () => on.process.store.users.remove(broadcaster, on.time.now()),
  );

/** Removes the subscription to a broadcaster, or makes it where there is none. */
async function switchSubscription(on: Platform, application: KnownApplication, broadcaster: number) {
  const its = [...on.promises.subscriptions.values()].filter(
    (one) => one.application === application && one.broadcaster === broadcaster,
  );
  const there = its.find(({ removal }) => removal === "none");
  if (there) {
    const remove = () => on.process.store.subscriptions.remove(application.id, [there.id], on.time.now());
    await unsubscribing(on, (one) => one === there, remove);
  } else if (!its.some(({ removal }) => removal === "asked")) await on.subscribe(application, broadcaster);
}

async function unsubscribing(
  on: Platform,
  isIts: (one: KnownSubscription) => boolean,
  work: () => Promise<unknown>,
): Promise<void> {
  const left = () =>
    [...on.promises.subscriptions.values()].filter((one) => isIts(one) && one.removal !== "acknowledged");
  const asked = left();
  for (const one of asked) one.removal = "asked";
  await work();
  for (const one of asked) one.removal = "acknowledged";
  // Those that were made meanwhile, before the removal or behind it.
  for (const one of left()) await on.lookForSubscription(one);
}

/** A person asks for a delivery again. */
export async function retry(on: Platform, which: number): Promise<void> {
  const all = [...on.promises.deliveries.values()];
  const delivery = all[which % Math.max(1, all.length)];
  if (!delivery) return;
  delivery.retries++;
  const { application } = delivery.subscription;
  await on.changing(application, (store) => store.deliveries.retry(everything, delivery.id, on.time.now()));
  on.promises.excuse(application);
}

/** A person asks for everything of an application again. */
export async function replay(on: Platform, application: KnownApplication): Promise<void> {
  application.replays++;
  const { store, dispatcher } = on.process;
  const all = { subscription_id: null, of_broadcaster: null, status: null, type: null };
  const range = { ...all, broadcaster_user_id: null };
  const [now, id] = [on.time.now(), newId()];
  const times = { from: 0, to: now + 1, created_at: now };
  await on.changing(application, async () => {
    await store.replays.create({ id, application_id: application.id, dry_run: false, ...range, ...times });
    await store.replays.advance(id, on.time.now());
    await store.replays.cancel(everything, id, on.time.now());
    dispatcher.wake(application.id);
  });
  on.promises.excuse(application);
}

type Changing = (on: Platform, application: KnownApplication) => Promise<void>;
const updated =
  (changes: ApplicationChanges): Changing =>
  (on, application) =>
    update(on, application, changes);

const changes = {
  rotated: rotate,
  "another URL": changeUrl,
  "enabled endpoint": enable,
  disabled: updated({ disabled: true }),
  enabled: updated({ disabled: false }),
  stream: updated({ delivery: "stream" }),
  webhook: updated({ delivery: "webhook" }),
  both: updated({ delivery: "both" }),
  "one at once": updated({ webhook_concurrency: 1 }),
  "ten at once": updated({ webhook_concurrency: 10 }),
  "any at once": updated({ webhook_concurrency: null }),
} as const satisfies Record<string, Changing>;
type Change = keyof typeof changes;

/** More deliveries than an endpoint gets at once. */
const moreThanAtOnce = 6;

/** The changes after which a signed request must not be sent. */
const outdating = ["rotated", "another URL", "disabled", "stream"] as const;

/** How likely each command is, where a run has it. Each run publishes, has answers, and lets time pass. */
const always = { publish: 8, answer: 4, "answer and publish": 3, pass: 5 } as const;
const weights = {
  reach: 3,
  "set clock": 1,
  change: 4,
  "change while it connects": 3,
  "set filters": 3,
  "switch subscription": 2,
  "remove application": 1,
  "remove user": 1,
  retry: 2,
  replay: 1,
  hold: 4,
  "let through": 4,
  fail: 2,
  "clean up": 1,
  restart: 1,
} as const;
type Kind = keyof typeof weights;

const some = <T>(all: readonly T[], maxLength = all.length) =>
  fc.subarray([...all], { minLength: 1, maxLength });

/**
 * What a run is made of. With few kinds of commands, and few values for each, long particular sequences are likely
 * (swarm testing).
 */
const ingredients = fc.record({
  kinds: some(Object.keys(weights) as Kind[]),
  applications: some(applicationIds),
  broadcasters: some(broadcasters),
  /** Seldom more than fit into memory: they take most of the time of a run. */
  counts: fc.oneof(
    { weight: 9, arbitrary: some([1, 2, 3, 10]) },
    { weight: 1, arbitrary: some([1, 2, 10, 300]) },
  ),
  lives: some([null, null, minute]),
  answers: some<Answer>(["ok", "slow", ...answers]),
  waits: some([20, 300, 1_000, 6_000, boundsMs.healthy, boundsMs.recovering, 7 * hour, 25 * hour, 4 * day]),
  clocks: some([-3 * day, -hour, -2 * minute, 2 * minute, hour, 3 * day]),
  changes: some(Object.keys(changes) as Change[]),
  filters: some(filterNames),
  ways: some(ways, 3),
  sides: some(["to", "from"] as const),
  /** How many turns of the event loop pass behind a command; null: all that there are. */
  turns: some([null, null, null, 0, 1, 2, 5]),
});
type Ingredients = typeof ingredients extends fc.Arbitrary<infer T> ? T : never;

/** What happens around the engine. */
function happeningOf(of: Ingredients) {
  const application = fc.constantFrom(...of.applications);
  const broadcaster = fc.constantFrom(...of.broadcasters);
  const way = fc.constantFrom(...of.ways);
  const gate = fc.tuple(fc.constantFrom(...of.sides), way).map(([side, way]): Gate => `${side} ${way}`);
  const chosen = Object.fromEntries(of.kinds.map((kind) => [kind, weights[kind]]));
  const weightOf: Readonly<Record<string, number>> = { ...always, ...chosen };
  const one = <K extends Kind | keyof typeof always, T extends object>(
    kind: K,
    fields: { [Key in keyof T]: fc.Arbitrary<T[Key]> },
  ) => ({
    weight: weightOf[kind] ?? 0,
    arbitrary: fc.record<T>(fields).map((given) => ({ do: kind, ...given })),
  });
  return fc.oneof(
    one("publish", {
      broadcaster,
      count: fc.constantFrom(...of.counts),
      livesMs: fc.constantFrom(...of.lives),
    }),
    one("answer", { application, answer: fc.constantFrom(...of.answers), isOne: fc.boolean() }),
    one("answer and publish", { application, broadcaster, answer: fc.constantFrom(...of.answers) }),
    one("reach", { application, isReachable: fc.boolean() }),
    one("pass", { ms: fc.constantFrom(...of.waits) }),
    one("set clock", { ms: fc.constantFrom(...of.clocks) }),
    one("change", { application, to: fc.constantFrom(...of.changes) }),
    one("change while it connects", { application, broadcaster, to: fc.constantFrom(...outdating) }),
    one("set filters", { application, to: fc.constantFrom(...of.filters) }),
    one("switch subscription", { application, broadcaster }),
    one("remove application", { application }),
    one("remove user", { broadcaster }),
    one("retry", { which: fc.nat(1_000) }),
    one("replay", { application }),
    one("hold", { gate }),
    one("let through", { gate, isForAll: fc.boolean() }),
    one("fail", { way, times: fc.constantFrom(1, 3) }),
    one("clean up", {}),
    one("restart", {
      how: fc.constantFrom("stop" as const, "kill" as const),
      start: fc.constantFrom(...starts),
    }),
  );
}
type Happening = ReturnType<typeof happeningOf> extends fc.Arbitrary<infer T> ? T : never;

const commandOf = (of: Ingredients) =>
  fc.record({ happening: happeningOf(of), turns: fc.constantFrom(...of.turns) });
export type Command = ReturnType<typeof commandOf> extends fc.Arbitrary<infer T> ? T : never;

/** A failing run keeps its ingredients, and is reduced to the fewest commands. */
export const commands = fc
  .noShrink(ingredients)
  .chain((of) => fc.array(commandOf(of), { maxLength: 40, size: "max" }));

const inOrder = (...happenings: Happening[]): Command[] =>
  happenings.map((happening) => ({ happening, turns: null }));

const one = { application: "A", broadcaster: 1 } as const;
const answered = (answer: Answer): Happening[] => [
  { do: "answer", application: "A", answer, isOne: false },
  { do: "publish", broadcaster: 1, count: 1, livesMs: null },
];

const published = (counts: readonly number[]): Happening[] =>
  counts.map((count) => ({ do: "publish", broadcaster: 1, count, livesMs: null }));

/** Short runs, made in any case, each of which breaks a promise if one rule of the delivery is wrong. */
export const examples: Command[][] = [
  // A receiver that fails asks for the time of the next attempt, and is not attempted before.
  inOrder(...answered("500 for an hour"), { do: "pass", ms: 50 * minute }),
  // One that answers 429 gets no other event before its time.
  inOrder(...answered("429"), ...published([1]), { do: "pass", ms: 10 * second }, { do: "pass", ms: minute }),
  // Each wait of the schedule is as long as promised, and not longer.
  inOrder(
    ...answered("reset"),
    { do: "pass", ms: 20 * minute },
    { do: "answer", application: "A", answer: "ok", isOne: false },
    { do: "pass", ms: 7 * hour },
  ),
  inOrder(...answered("reset"), { do: "pass", ms: 4 * day }),
  // A retry is signed with the secret that is in force by then.
  inOrder(
    ...answered("reset"),
    { do: "change", application: "A", to: "rotated" },
    { do: "pass", ms: 20 * minute },
  ),
  // Nothing that has changed is sent as it was signed before.
  ...outdating.map((to) => inOrder({ do: "change while it connects", ...one, to })),
  // An endpoint gets no more attempts at once than its application says.
  inOrder({ do: "answer and publish", ...one, answer: "slow" }),
  inOrder(
    { do: "change", application: "A", to: "one at once" },
    { do: "answer and publish", ...one, answer: "slow" },
  ),
  // An event that a filter excludes has no delivery for that application, and takes no sequence number.
  inOrder(
    { do: "set filters", application: "A", to: "only ada" },
    { do: "set filters", application: "B", to: "not ada" },
    ...published([1, 1, 1, 10]),
    { do: "set filters", application: "A", to: "ben in this version" },
    { do: "set filters", application: "B", to: "none" },
    ...published([1, 3, 10, 1]),
  ),
];

function hostOf(on: Platform, id: string): string {
  return new URL(on.application(id).committed?.webhook_url ?? "https://none.test").host;
}

/** An application changes between the signature of an attempt and its request. */
async function changeWhileItConnects(
  on: Platform,
  { application, broadcaster, to }: Extract<Happening, { do: "change while it connects" }>,
): Promise<void> {
  const host = hostOf(on, application);
  on.receivers.setReachable(host, false);
  on.begun(on.publish(broadcaster, 1, null), "publish");
  await on.settle();
  on.begun(changes[to](on, on.application(application)), to);
  await on.settle();
  on.receivers.setReachable(host, true);
}

/** Has it happen; resolves when it was begun, or where it takes time, when that is over. */
async function happens(on: Platform, one: Happening): Promise<void> {
  switch (one.do) {
    case "publish":
      return on.begun(on.publish(one.broadcaster, one.count, one.livesMs), one.do);
    case "answer":
      if (one.isOne) return on.receivers.answerOne(hostOf(on, one.application), one.answer);
      return on.receivers.answer(hostOf(on, one.application), one.answer);
    case "answer and publish":
      on.receivers.answer(hostOf(on, one.application), one.answer);
      return on.begun(on.publish(one.broadcaster, moreThanAtOnce, null), "publish");
    case "reach":
      return on.receivers.setReachable(hostOf(on, one.application), one.isReachable);
    case "pass":
      return on.pass(one.ms);
    case "set clock":
      return on.setClock(one.ms);
    case "change":
      return on.begun(changes[one.to](on, on.application(one.application)), one.to);
    case "change while it connects":
      return changeWhileItConnects(on, one);
    case "set filters":
      return on.begun(setFilters(on, on.application(one.application), one.to), one.do);
    case "switch subscription":
      return on.begun(switchSubscription(on, on.application(one.application), one.broadcaster), one.do);
    case "remove application":
      return on.begun(removeApplication(on, on.application(one.application)), one.do);
    case "remove user":
      return on.begun(removeUser(on, one.broadcaster), one.do);
    case "retry":
      return on.begun(retry(on, one.which), one.do);
    case "replay":
      return on.begun(replay(on, on.application(one.application)), one.do);
    case "hold":
      return on.process.gates.close(one.gate);
    case "let through":
      return on.process.gates.open(one.gate, one.isForAll);
    case "fail":
      return on.process.gates.fail(one.way, one.times);
    case "clean up":
      return on.cleanUp();
    case "restart":
      return on.restart(one.how, one.start);
  }
}

/** Runs a command, and checks what the engine has promised. */
export async function run(on: Platform, { happening, turns }: Command): Promise<void> {
  on.say(JSON.stringify({ ...happening, turns }));
  await happens(on, happening);
  if (turns === null) await on.settle();
  else await on.turns(turns);
  on.check();
}
