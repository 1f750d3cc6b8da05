import fc from "fast-check";
import { type Random, seeded, weighted } from "../../../src/dev/chance.ts";
import { day, hour, minute, second } from "../../../src/domain/time.ts";
import type { OpenApiDocument } from "../openapi.ts";
import { type Documented, documented } from "../requests/documented.ts";
import { type Input, Known, written } from "../requests/input.ts";
import { inputs, registered } from "../requests/inputs.ts";
import { applicationSteps, create, ownToken } from "./application-steps.ts";
import { deliveries, eventSteps, streamSteps } from "./event-steps.ts";
import { operatorSteps, reports, statistics } from "./operator-steps.ts";
import type { Pair } from "./pair.ts";
import { exported, platformSteps } from "./platform-steps.ts";
import { type Step, World } from "./world.ts";

/** What has no end, is of one machine or one database, or is counted at a time of its own. */
const leftOut = /stream|outcomes|backups|settings|storage|findings|statistics|public-key|\/(healthz|readyz)$/;
/** Requests that are generated at a time. */
const atOnce = 40;

/** Makes the step that sends one of the requests that `tests/api/fuzz.test.ts` makes from the OpenAPI documents. */
export async function documentedStep(world: World, seed: number): Promise<Step> {
  const all: Documented[] = [];
  for (const listener of ["public", "admin"] as const)
    all.push(...documented(listener, (await world.pair.document(listener)) as OpenApiDocument));
  const generated = inputs(all.filter(({ path }) => !leftOut.test(path)));
  const known = new Known();
  known.add("event-types", "channel.followed", "chat.message.sent", "kicks.gifted", ...registered);
  let waiting: Input[] = [];
  let next = seed;
  return async () => {
    if (waiting.length === 0) waiting = fc.sample(generated, { seed: next++, numRuns: atOnce });
    const input = waiting.pop();
    if (input) await send(world, known, input);
  };
}

async function send(world: World, known: Known, input: Input): Promise<void> {
  const { operation, headers, as } = input;
  // Ids are remembered for 7 days at least; how much longer, depends on the database.
  const days = Math.floor(world.pair.clock.now() / (3 * day));
  const ids = Array.from({ length: 30 }, (_, i) => `event-${days}-${i}`);
  known.replace("event-ids", ids);
  const answer = await world.call({
    ...written(input, known),
    headers,
    ...(as !== "nobody" && { token: world.token() }),
  });
  if (answer.status < 400) known.learn(operation.path, answer.body);
}

/** What is due is sent. */
async function sendDue(world: World): Promise<void> {
  for (const { id } of world.callers)
    await world.call({ method: "PATCH", path: `/admin/v1/applications/${id}`, body: {} });
}

/** Time passes. */
const wait: Step = async (world) => {
  await world.pair.advance(world.pick([1, second, 10 * second, minute, 11 * minute, hour, 3 * hour, day]));
  await sendDue(world);
};

/** Years pass, in which first all bodies and then all deliveries become old. */
const age: Step = async (world) => {
  const { bodiesMs, allMs } = world.pair.age;
  // The counted changes of the audit log are stored by then, and so removed with all others of that time.
  await Bun.sleep(1.2 * second);
  for (const ms of [bodiesMs + day, bodiesMs + day, allMs, allMs]) {
    await world.pair.advance(ms, bodiesMs);
    await sendDue(world);
    if (ms !== allMs) await deliveries(world);
  }
  for (const kind of ["deliveries", "replays"]) world.forget(kind);
  for (const caller of world.callers) await ownToken(world, caller);
};

const steps = [
  ...platformSteps,
  ...applicationSteps,
  ...operatorSteps,
  ...eventSteps,
  ...streamSteps,
  [3, wait] as const,
  [0.3, age] as const,
];

/** Sends requests of a seed to both servers until the time is over. Throws at the first difference. */
export async function compare(pair: Pair, seed: number, forMs: number): Promise<void> {
  const random: Random = seeded(seed);
  const world = new World(pair, random);
  await pair.loadUsers();
  while (world.callers.length < 3) await create(world);
  const all = [...steps, [10, await documentedStep(world, seed)] as const];
  const endsAt = performance.now() + forMs;
  while (performance.now() < endsAt) {
    const [, step] = weighted(random, all, ([weight]) => weight);
    await step(world);
    if (world.callers.length < 3) await create(world);
  }
  await pair.restart();
  for (const step of [exported, reports, deliveries, statistics]) await step(world);
}
