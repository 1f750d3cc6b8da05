import { describe, expect, test } from "bun:test";
import { seeded } from "../../src/dev/chance.ts";
import { applications, newApplication } from "../support/interleaving/applications.ts";
import { categories } from "../support/interleaving/categories.ts";
import { users } from "../support/interleaving/users.ts";
import {
  type Action,
  haveOneMoment,
  Register,
  type Target,
  World,
  type Write,
} from "../support/interleaving/world.ts";
import { ownListener } from "../support/listener.ts";
import { ownProcess } from "../support/process.ts";
import { adminKey, ownDirectory, ownServer } from "../support/server.ts";

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
export interface Outcome {
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

describe("reads beside writes never give a stale or mixed answer", () => {
  test("of a server in this process", async () => {
    const { publicUrl, adminUrl } = await ownServer({ engineThread: true });
    await expectConsistent({ publicUrls: [publicUrl], adminUrl, adminKey });
  });

  test("of a server in a process of its own", async () => {
    const args = ["--data", ownDirectory(), "--rate-limit", "0", "--allow-private-webhooks"];
    const { publicUrl, adminUrl } = await ownProcess(args);
    await expectConsistent({ publicUrls: [publicUrl], adminUrl, adminKey });
  });
});

describe("it would be noticed", () => {
  test("if profiles were remembered for too long", async () => {
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
    const target = { publicUrls: [forgetful.url], adminUrl: server.adminUrl, adminKey };
    const { problems } = await interleave(target, { ...usual, operations: 500 });
    expect(problems.length).toBeGreaterThan(0);
    for (const problem of problems) expect(problem).toMatch(/^(GET|HEAD) \/public\/v1\/users\//);
  });

  const register = new Register("a");
  const write = (value: string, startedAt: number, ackedAt: number): Write<string> =>
    Object.assign(register.begin(value), { startedAt, ackedAt });
  const b = write("b", 10, 20);
  const c = write("c", 15, 30);
  const d = write("d", 40, 50);
  const never = Number.POSITIVE_INFINITY;

  test.each<[string, number, number, string]>([
    ["before all", 0, 5, "a"],
    ["while the first is under way", 5, 12, "ab"],
    ["while two are", 12, 18, "abc"],
    ["after the first of two that overlap", 21, 29, "bc"],
    ["after both, in whatever order they came", 31, 39, "bc"],
    ["while a later one is under way", 31, 45, "bcd"],
    ["after that", 51, 60, "d"],
  ])("what may be seen %s", (_, from, to, expected) => {
    const seen = register.possible({ from, to }).map(({ value }) => value);
    expect(seen.join("")).toBe(expected);
  });

  test("what may be seen when it may be behind", () => {
    const seen = (from: number) =>
      register
        .possible({ from, to: from }, 20)
        .map(({ value }) => value)
        .join("");
    expect([seen(35), seen(60), seen(71)]).toEqual(["abc", "bcd", "d"]);
  });

  test("when a value was there, and whether several were there at once", () => {
    expect(register.lifetime(b)).toEqual({ from: 10, to: 50 });
    expect(register.lifetime(c)).toEqual({ from: 15, to: 50 });
    expect(register.lifetime(d)).toEqual({ from: 40, to: never });
    const span = { from: 0, to: 100 };
    expect(haveOneMoment(span, [[{ from: 10, to: 50 }], [{ from: 40, to: never }]])).toBe(true);
    expect(haveOneMoment(span, [[{ from: 10, to: 20 }], [{ from: 40, to: never }]])).toBe(false);
    expect(
      haveOneMoment(span, [
        [
          { from: 10, to: 20 },
          { from: 45, to: 60 },
        ],
        [{ from: 40, to: never }],
      ]),
    ).toBe(true);
    expect(haveOneMoment({ from: 0, to: 30 }, [[{ from: 40, to: never }]])).toBe(false);
    expect(haveOneMoment(span, [[]])).toBe(false);
  });
});
