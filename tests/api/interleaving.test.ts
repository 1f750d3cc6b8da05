import { expect, test } from "bun:test";
import { seeded } from "../../src/dev/chance.ts";
import { applications, newApplication } from "../support/interleaving/applications.ts";
import { categories } from "../support/interleaving/categories.ts";
import { users } from "../support/interleaving/users.ts";
import { type Action, type Target, World } from "../support/interleaving/world.ts";
import { ownListener } from "../support/listener.ts";
import { ownProcess } from "../support/process.ts";
import { adminKey, isOnPostgres, ownDirectory, ownServer } from "../support/server.ts";

interface Interleaving {
  readonly seed: number;
  /** Who write and read at the same time. */
  readonly clients: number;
  /** It ends after so many, */
  readonly operations: number;
  /** or after so long, once everything was done. */
  readonly forMs: number;
}

/** What was done, by name, and what was wrong, in words. */
interface Outcome {
  readonly done: Readonly<Record<string, number>>;
  readonly problems: readonly string[];
}

/**
 * Has many clients write through the admin API and read through the public one, at random, and holds each answer
 * against what was written: it must not show less than was acknowledged before its request, nor more than was begun
 * before its end, nor two versions in one. The same seed makes the same choices, though the server's timing is its own.
 */
async function interleave(
  target: Target,
  { seed, clients, operations, forMs }: Interleaving,
): Promise<Outcome> {
  const world = new World(target, seeded(seed));
  const { token } = await newApplication(world);
  const scenes = [await users(world, token), await categories(world), await applications(world)];
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

/** `ONAIR_TEST_SEED=… bun test tests/api/interleaving.test.ts` makes the choices of that seed again. */
const seed = Number(process.env["ONAIR_TEST_SEED"] ?? Math.floor(Math.random() * 1e9));
const usual: Interleaving = { seed, clients: 32, operations: 2_500, forMs: 1_000 };

async function expectConsistent(target: Target): Promise<void> {
  const { done, problems } = await interleave(target, usual);
  expect({ seed, problems }).toEqual({ seed, problems: [] });
  expect(Object.entries(done).filter(([, times]) => times === 0)).toEqual([]);
}

test("reads beside writes never give a stale or mixed answer", async () => {
  // A process of its own answers while the clients run; the one of the tests can be on PostgreSQL.
  const args = ["--data", ownDirectory(), "--rate-limit", "0", "--allow-private-webhooks"];
  const { publicUrl, adminUrl } = isOnPostgres
    ? await ownServer({ engineThread: true })
    : await ownProcess(args);
  await expectConsistent({ publicUrl, adminUrl, adminKey });
});

test("profiles that are remembered for too long are noticed", async () => {
  const server = await ownServer({ engineThread: true });
  const remembered = new Map<string, { status: number; text: string }>();
  const forgetful = ownListener(async (request) => {
    const { method, headers, url } = request;
    const { pathname, search } = new URL(url);
    const key = `${method} ${pathname.toLowerCase()}`;
    const known = /^GET .*\/users\/pair/.test(key) ? remembered.get(key) : undefined;
    if (known) return new Response(known.text, { status: known.status });
    const body = method === "POST" ? await request.text() : null;
    const answer = await fetch(server.publicUrl + pathname + search, { method, headers, body });
    const { status } = answer;
    const text = await answer.text();
    remembered.set(key, { status, text });
    return new Response(status === 204 || status === 304 ? null : text, {
      status,
      headers: answer.headers,
    });
  });
  const target = { publicUrl: forgetful.url, adminUrl: server.adminUrl, adminKey };
  const { problems } = await interleave(target, { ...usual, operations: 500 });
  expect(problems.length).toBeGreaterThan(0);
  for (const problem of problems) expect(problem).toMatch(/^(GET|HEAD) \/public\/v1\/users\//);
});
