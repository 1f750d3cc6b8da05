import fc from "fast-check";
import { day, hour, minute } from "../../../src/domain/time.ts";
import { type Gate, ways } from "./gates.ts";
import { applicationIds, boundOfHealthyMs, broadcasters, type Platform } from "./platform.ts";
import { type Answer, answers } from "./receivers.ts";

const application = fc.constantFrom(...applicationIds);
const broadcaster = fc.constantFrom(...broadcasters);
const gate = fc
  .tuple(fc.constantFrom("to" as const, "from" as const), fc.constantFrom(...ways))
  .map(([side, way]): Gate => `${side} ${way}`);
const answer = fc.constantFrom<Answer>("ok", "ok", "slow", "slow", ...answers);

/** What happens around the engine. */
const happening = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant("publish" as const),
      broadcaster,
      count: fc.constantFrom(1, 1, 1, 2, 3, 10, 300),
      livesMs: fc.constantFrom(null, null, null, minute),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant("answer" as const), application, answer, isOne: fc.boolean() }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("reach" as const), application, isReachable: fc.boolean() }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("pass" as const),
      ms: fc.constantFrom(20, 300, 1_000, 6_000, boundOfHealthyMs, 6 * minute, 7 * hour),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("set clock" as const),
      ms: fc.constantFrom(-3 * day, -hour, -2 * minute, 2 * minute, hour, 3 * day),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("change" as const),
      application,
      to: fc.constantFrom(
        "rotated",
        "rotated",
        "another URL",
        "enabled endpoint",
        "disabled",
        "enabled",
        "stream",
        "webhook",
        "one at once",
        "any at once",
      ),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("switch subscription" as const), application, broadcaster }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("retry" as const), which: fc.nat(1_000) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("replay" as const), application }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("hold" as const), gate }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant("let through" as const), gate, isForAll: fc.boolean() }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("fail" as const),
      way: fc.constantFrom(...ways),
      times: fc.constantFrom(1, 3),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("restart" as const),
      how: fc.constantFrom("stop" as const, "kill" as const),
    }),
  },
);
type Happening = typeof happening extends fc.Arbitrary<infer T> ? T : never;

/** How many turns of the event loop pass behind it; null: all that there are. */
const turnsBehind = fc.constantFrom(null, null, null, 0, 1, 2, 5);
const command = fc.record({ happening, turns: turnsBehind });
export type Command = typeof command extends fc.Arbitrary<infer T> ? T : never;

export const commands = fc.array(command, { maxLength: 40, size: "max" });

const changes = {
  rotated: (on: Platform, id: string) => on.rotate(on.application(id)),
  "another URL": (on: Platform, id: string) => on.changeUrl(on.application(id)),
  "enabled endpoint": (on: Platform, id: string) => on.enable(on.application(id)),
  disabled: (on: Platform, id: string) => on.update(on.application(id), { disabled: true }),
  enabled: (on: Platform, id: string) => on.update(on.application(id), { disabled: false }),
  stream: (on: Platform, id: string) => on.update(on.application(id), { delivery: "stream" }),
  webhook: (on: Platform, id: string) => on.update(on.application(id), { delivery: "webhook" }),
  "one at once": (on: Platform, id: string) => on.update(on.application(id), { webhook_concurrency: 1 }),
  "any at once": (on: Platform, id: string) => on.update(on.application(id), { webhook_concurrency: null }),
} as const;

function hostOf(on: Platform, id: string): string {
  return new URL(on.application(id).committed?.webhook_url ?? "https://none.test").host;
}

/** Has it happen; resolves when it was begun, or where it takes time, when that is over. */
async function happens(on: Platform, one: Happening): Promise<void> {
  switch (one.do) {
    case "publish":
      return on.begun(on.publish(one.broadcaster, one.count, one.livesMs), one.do);
    case "answer":
      if (one.isOne) return on.receivers.answerOne(hostOf(on, one.application), one.answer);
      return on.receivers.answer(hostOf(on, one.application), one.answer);
    case "reach":
      return on.receivers.setReachable(hostOf(on, one.application), one.isReachable);
    case "pass":
      return on.pass(one.ms);
    case "set clock":
      return on.setClock(one.ms);
    case "change":
      return on.begun(changes[one.to as keyof typeof changes](on, one.application), one.to);
    case "switch subscription":
      return on.begun(on.switchSubscription(on.application(one.application), one.broadcaster), one.do);
    case "retry":
      return on.begun(on.retry(one.which), one.do);
    case "replay":
      return on.begun(on.replay(on.application(one.application)), one.do);
    case "hold":
      return on.process.gates.close(one.gate);
    case "let through":
      return on.process.gates.open(one.gate, one.isForAll);
    case "fail":
      return on.process.gates.fail(one.way, one.times);
    case "restart":
      return on.restart(one.how);
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
