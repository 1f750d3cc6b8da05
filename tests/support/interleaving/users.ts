import { pick } from "../../../src/dev/chance.ts";
import {
  haveOneMoment,
  type Random,
  Register,
  type Scene,
  type Seen,
  Turns,
  type World,
  type Write,
} from "./world.ts";

/*
 * Users who come in pairs. A pair has four names, which its two users take, exchange and leave; all of them are found
 * by one search.
 */

const pairCount = 5;
const namesOfPair = 4;

/** A user of a version; all its fields follow from these. */
interface Version {
  readonly id: number;
  readonly name: string;
  readonly stamp: number;
}

class Pair {
  /** Who has a name: null, nobody. */
  readonly names: ReadonlyMap<string, Register<Version | null>>;
  readonly users: ReadonlyMap<number, Register<Version | null>>;
  /** As it will be when the change under way is made. */
  readonly now = new Map<number, Version>();
  readonly prefix: string;

  constructor(readonly number: number) {
    this.prefix = `pair${number}_`;
    const names = Array.from({ length: namesOfPair }, (_, i) => `${this.prefix}n${i}`);
    this.names = new Map(names.map((name) => [name, new Register<Version | null>(null)]));
    const ids = [1_000 + 2 * number, 1_001 + 2 * number];
    this.users = new Map(ids.map((id) => [id, new Register<Version | null>(null)]));
  }

  freeName(random: Random): string {
    const taken = new Set([...this.now.values()].map(({ name }) => name));
    return pick(
      random,
      [...this.names.keys()].filter((name) => !taken.has(name)),
    );
  }

  /** Begins the writes that lead to these versions; null: the user is gone. */
  begin(changes: readonly (readonly [number, Version | null])[]): Write<unknown>[] {
    const owners = new Map<string, Version | null>();
    for (const [id] of changes) {
      const before = this.now.get(id);
      if (before) owners.set(before.name, null);
    }
    const writes: Write<unknown>[] = [];
    for (const [id, version] of changes) {
      if (version) owners.set(version.name, version);
      if (version) this.now.set(id, version);
      else this.now.delete(id);
      writes.push(...[this.users.get(id)?.begin(version)].filter((write) => write !== undefined));
    }
    for (const [name, owner] of owners)
      writes.push(...[this.names.get(name)?.begin(owner)].filter((write) => write !== undefined));
    return writes;
  }
}

/** The user as the admin API takes it and Get User shows it. */
export function userOf({ id, name, stamp }: Version) {
  return {
    id,
    username: stamp % 2 === 0 ? name : name.toUpperCase(),
    display_name: `Version ${stamp}`,
    bio: `of ${stamp}`,
    profile_picture: `https://pictures.example.com/${stamp}.webp`,
    followers_count: stamp,
    following_count: stamp * 2,
    is_verified: stamp % 3 === 0,
    created_at: new Date(Date.UTC(2020, 0, 1) + stamp * 1_000).toISOString(),
  };
}

function summaryOf(version: Version) {
  const { id, username, display_name, profile_picture, is_verified } = userOf(version);
  return { id, username, display_name, profile_picture, is_verified };
}

const anyCase = (name: string, random: Random) =>
  random() < 0.5 ? name : [...name].map((c) => (random() < 0.5 ? c.toUpperCase() : c)).join("");

/** Notes what is wrong with an answer of Get User. */
export function checkProfile(
  world: World,
  path: string,
  { status, text, span }: Seen,
  owner: Register<Version | null>,
): void {
  const possible = owner.possible(span).map(({ value }) => value);
  const body = status === 200 ? JSON.parse(text) : null;
  const fits = possible.some((version) =>
    version ? Bun.deepEquals(body, { user: userOf(version), message: "OK" }, true) : status === 404,
  );
  if (!fits) world.wrong(`GET ${path}`, { status, text, possible });
}

/** @param token one that may read users */
export async function users(world: World, token: string): Promise<Scene> {
  const pairs = new Turns(Array.from({ length: pairCount }, (_, i) => new Pair(i)));
  const next = (id: number, name: string): Version => ({ id, name, stamp: world.stamp() });

  const put = async (pair: Pair, id: number, random: Random) => {
    const known = pair.now.get(id);
    const name = known && random() < 0.3 ? known.name : pair.freeName(random);
    const version = next(id, name);
    const { id: _, ...fields } = userOf(version);
    await world.change(pair.begin([[id, version]]), () =>
      world.admin("PUT", `/admin/v1/users/${id}`, fields),
    );
  };

  const remove = (pair: Pair, id: number) =>
    world.change(pair.begin([[id, null]]), () => world.admin("DELETE", `/admin/v1/users/${id}`));

  /** The two exchange their names, by way of a third one, in one batch. */
  const exchange = async (pair: Pair, random: Random) => {
    const [one, other] = [...pair.now.values()];
    if (!one || !other) return;
    const between = next(one.id, pair.freeName(random));
    const versions = [next(other.id, one.name), next(one.id, other.name)];
    const rows = [between, ...versions].map(userOf);
    await world.change(pair.begin(versions.map((version) => [version.id, version])), () =>
      world.admin("POST", `/admin/v1/users/batch${random() < 0.5 ? "?atomic=true" : ""}`, rows),
    );
  };

  const change = (random: Random) =>
    pairs.take(random, async (pair) => {
      const id = pick(random, [...pair.users.keys()]);
      if (pair.now.size === 2 && random() < 0.3) await exchange(pair, random);
      else if (pair.now.has(id) && random() < 0.3) await remove(pair, id);
      else await put(pair, id, random);
    });

  const profile = async (random: Random) => {
    const [name, owner] = pick(random, [...pairs.any(random).names]);
    const path = `/public/v1/users/${anyCase(name, random)}`;
    checkProfile(world, path, await world.ask(path, { token }), owner);
  };

  const search = async (random: Random) => {
    const pair = pairs.any(random);
    const path = `/public/v1/users/search?query=${anyCase(pair.prefix, random)}`;
    const { status, text, span } = await world.ask(path, { token });
    const { data = [] } = JSON.parse(text) as { data?: { id: number }[] };
    const known = [...pair.users].map(([id, register]) => {
      const [shown, ...more] = data.filter((one) => one.id === id);
      const fitting = register
        .possible(span)
        .filter(({ value }) => (value ? Bun.deepEquals(shown, summaryOf(value), true) : shown === undefined));
      return { fitting: more.length > 0 ? [] : fitting, register };
    });
    const isKnown = status === 200 && data.every(({ id }) => pair.users.has(id));
    const lifetimes = known.map(({ fitting, register }) => fitting.map((write) => register.lifetime(write)));
    if (!isKnown || !haveOneMoment(span, lifetimes))
      world.wrong(`GET ${path}`, {
        status,
        text,
        possible: known.map(({ register }) => register.possible(span)),
      });
  };

  for (const pair of pairs.all) for (const id of pair.users.keys()) await put(pair, id, world.random);
  return {
    actions: [
      { name: "change users", weight: 12, run: change },
      { name: "Get User", weight: 24, run: profile },
      { name: "Search Users", weight: 8, run: search },
    ],
    async settled() {
      for (const { names } of pairs.all) {
        for (const [name, owner] of names) {
          const path = `/public/v1/users/${name}`;
          checkProfile(world, path, await world.ask(path, { token }), owner);
        }
      }
    },
  };
}
