import { describe, expect, test } from "bun:test";
import type { Profile } from "../../src/domain/users.ts";
import { Changes } from "../../src/http/changes.ts";
import { Profiles } from "../../src/http/public/profiles.ts";

const ids = new Map([
  ["ada", 1],
  ["bob", 2],
  ["popular", 0],
]);

/** Of ada, bob, popular and every name that ends with a number. */
function profileOf(name: string): Profile | null {
  const id = ids.get(name) ?? Number(/\d+$/.exec(name)?.[0] ?? Number.NaN);
  return Number.isNaN(id) ? null : { id, bytes: Buffer.from(`é of ${id}`) };
}

const bytesOf = (name: string) => profileOf(name)?.bytes ?? [];

const read = async (names: readonly string[]) => names.map(profileOf);

test("keeps what was loaded until its user changes", async () => {
  const profiles = new Profiles({ read });
  expect([...((await profiles.load("ada")) ?? [])]).toEqual([...bytesOf("ada")]);
  expect([...(profiles.get("ada") ?? [])]).toEqual([...bytesOf("ada")]);
  profiles.forget([2]);
  expect(profiles.get("ada")).toBeDefined();
  profiles.forget([1]);
  expect(profiles.get("ada")).toBeUndefined();
});

test("does not keep what was changed while it was loaded, nor what does not exist", async () => {
  const profiles: Profiles = new Profiles({
    read: async (names) => {
      profiles.forget([1]);
      return read(names);
    },
  });
  expect([...((await profiles.load("ada")) ?? [])]).toEqual([...bytesOf("ada")]);
  expect(profiles.get("ada")).toBeUndefined();
  expect(await profiles.load("nobody")).toBeNull();
  expect(profiles.get("nobody")).toBeUndefined();
});

describe("what is asked for in one turn of the event loop", () => {
  test("is read at once, up to a bound, and each gets what it asked for", async () => {
    const asked: (readonly string[])[] = [];
    const profiles = new Profiles({
      read: (names) => {
        asked.push(names);
        return read(names);
      },
    });
    const names = Array.from({ length: 150 }, (_, i) =>
      i % 10 === 0 ? `nobody${"x".repeat(i)}` : `user${i}`,
    );
    const loaded = await Promise.all(names.map((name) => profiles.load(name)));
    expect(asked.map(({ length }) => length)).toEqual([64, 64, 22]);
    expect(asked.flat()).toEqual(names);
    for (const [i, name] of names.entries()) {
      expect(loaded[i] ?? null).toEqual(profileOf(name)?.bytes ?? null);
    }
  });

  test("fails together, and what is asked for after that does not", async () => {
    let fails = true;
    const profiles = new Profiles({
      read: (names) => (fails ? Promise.reject(new Error("broken")) : read(names)),
    });
    const loaded = await Promise.allSettled([profiles.load("ada"), profiles.load("bob")]);
    expect(loaded.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(profiles.get("ada")).toBeUndefined();
    fails = false;
    expect(await profiles.load("ada")).not.toBeNull();
  });

  test("does not keep others from being answered when reading throws instead of rejecting", async () => {
    const profiles = new Profiles({
      read: () => {
        throw new Error("broken");
      },
    });
    await expect(profiles.load("ada")).rejects.toThrow("broken");
  });
});

test("is bounded, and keeps what is asked for", async () => {
  const profiles = new Profiles({ read, maxBytes: 2 ** 18 });
  await profiles.load("popular");
  const names = Array.from({ length: 3_000 }, (_, i) => `user${i + 1}`);
  for (const name of [...names, ...names]) {
    await profiles.load(name);
    expect(profiles.get("popular")).toBeDefined();
  }
  const kept = names.filter((name) => profiles.get(name));
  expect(kept.length).toBeGreaterThan(500);
  expect(kept.length).toBeLessThanOrEqual(1_024);
  const [first = ""] = kept;
  profiles.forget([Number(first.slice(4))]);
  expect(profiles.get(first)).toBeUndefined();
});

test("a user asked for by a new name, before the rename was told of, is gone by the old one after that", async () => {
  const profiles = new Profiles({ read });
  await profiles.load("old1");
  // The rename is on disk, which is where this comes from, but its acknowledgement is still under way.
  await profiles.load("new1");
  profiles.forget([1]);
  expect([profiles.get("old1"), profiles.get("new1")]).toEqual([undefined, undefined]);
});

describe("the profiles of two threads, which share a count of changes", () => {
  const memory = new SharedArrayBuffer(Changes.bytes);
  const inThread = () => new Profiles({ read, changes: new Changes(memory) });

  test("lose a user at the same time, whichever of them is told", async () => {
    const [one, two] = [inThread(), inThread()];
    for (const profiles of [one, two]) {
      await profiles.load("ada");
      await profiles.load("bob");
    }
    two.forget([1]);
    for (const profiles of [one, two]) {
      expect(profiles.get("ada")).toBeUndefined();
      expect(profiles.get("bob")).toBeDefined();
    }
    await one.load("ada");
    expect(one.get("ada")).toBeDefined();
    expect(two.get("ada")).toBeUndefined();
  });

  test("do not keep what another thread changed while it was loaded", async () => {
    const two = inThread();
    const one = new Profiles({
      read: async (names) => {
        two.forget([1]);
        return read(names);
      },
      changes: new Changes(memory),
    });
    await one.load("ada");
    expect(one.get("ada")).toBeUndefined();
  });
});
