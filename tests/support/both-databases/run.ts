import { type Random, seeded, weighted } from "../../../src/dev/chance.ts";
import { day, hour, minute, second } from "../../../src/domain/time.ts";
import { applicationSteps, create, reports, statistics } from "./application-steps.ts";
import { documentedStep } from "./documented-steps.ts";
import { deliveries, eventSteps } from "./event-steps.ts";
import type { Pair } from "./pair.ts";
import { exported, platformSteps } from "./platform-steps.ts";
import { type Step, World } from "./world.ts";

/** Time passes, and what is due then is sent. */
const wait: Step = async (world) => {
  await world.pair.advance(world.pick([1, second, 10 * second, minute, 11 * minute, hour, 3 * hour, day]));
  for (const { id } of world.callers)
    await world.call({ method: "PATCH", path: `/admin/v1/applications/${id}`, body: {} });
};

const steps = [...platformSteps, ...applicationSteps, ...eventSteps, [3, wait] as const];

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
