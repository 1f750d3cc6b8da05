import { seeded } from "../../../src/dev/chance.ts";
import { applications, newApplication } from "./applications.ts";
import { categories } from "./categories.ts";
import { subscriptions } from "./subscriptions.ts";
import { users } from "./users.ts";
import { type Action, type Target, World } from "./world.ts";

export interface Interleaving {
  readonly seed: number;
  /** Who write and read at the same time. */
  readonly clients: number;
  /** It ends after so many, */
  readonly operations: number;
  /** or after so long, once everything was done. */
  readonly forMs: number;
}

/** What was done, by name, and what was wrong, in words. */
export interface Outcome {
  readonly done: Readonly<Record<string, number>>;
  readonly problems: readonly string[];
}

/**
 * Has many clients write through the admin API and read through the public one, at random, and holds each answer
 * against what was written: it must not show less than was acknowledged before its request, nor more than was begun
 * before its end, nor two versions in one. The same seed makes the same choices, though the server's timing is its own.
 */
export async function interleave(
  target: Target,
  { seed, clients, operations, forMs }: Interleaving,
): Promise<Outcome> {
  const world = new World(target, seeded(seed));
  const { token } = await newApplication(world);
  const scenes = [
    await users(world, token),
    await categories(world),
    await applications(world),
    await subscriptions(world),
  ];
  const actions = scenes.flatMap((scene) => scene.actions);
  const done: Record<string, number> = Object.fromEntries(actions.map(({ name }) => [name, 0]));
  const endsAt = performance.now() + forMs;
  const isOver = () =>
    world.isOver || (performance.now() >= endsAt && Object.values(done).every((times) => times > 0));
  let left = operations;
  const client = async (number: number) => {
    const random = seeded(seed + number);
    while (left-- > 0 && !isOver()) {
      const { name, run } = choose(actions, random);
      await run(random);
      done[name] = (done[name] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: clients }, (_, i) => client(i + 1)));
  for (const scene of scenes) await scene.settled();
  return { done, problems: world.problems };
}

function choose(actions: readonly Action[], random: () => number): Action {
  let at = random() * actions.reduce((sum, { weight }) => sum + weight, 0);
  for (const action of actions) {
    at -= action.weight;
    if (at < 0) return action;
  }
  throw new Error("there is nothing to do");
}
