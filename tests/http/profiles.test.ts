import { describe, expect, test } from "bun:test";
import { Changes } from "../../src/http/changes.ts";
import { Profiles } from "../../src/http/public/profiles.ts";

const entry = (id: number) => ({ id, bytes: new Uint8Array([id % 256]) });

test("keeps what was loaded until its user changes", async () => {
  const profiles = new Profiles();
  await profiles.load("ada", async () => entry(1));
  expect(profiles.get("ada")).toEqual(new Uint8Array([1]));
  profiles.forget([2]);
  expect(profiles.get("ada")).toBeDefined();
  profiles.forget([1]);
  expect(profiles.get("ada")).toBeUndefined();
});

test("does not keep what was changed while it was loaded, nor what does not exist", async () => {
  const profiles = new Profiles();
  const loaded = await profiles.load("ada", async () => {
    profiles.forget([1]);
    return entry(1);
  });
  expect(loaded).toEqual(new Uint8Array([1]));
  expect(profiles.get("ada")).toBeUndefined();
  expect(await profiles.load("nobody", async () => null)).toBeNull();
  expect(profiles.get("nobody")).toBeUndefined();
});

test("is bounded, and keeps what is asked for", async () => {
  const profiles = new Profiles(6_400);
  await profiles.load("popular", async () => entry(0));
  for (let id = 1; id <= 1_000; id++) {
    await profiles.load(`user${id}`, async () => entry(id));
    expect(profiles.get("popular")).toBeDefined();
  }
  const kept = Array.from({ length: 1_000 }, (_, i) => profiles.get(`user${i + 1}`)).filter(Boolean);
  expect(kept.length).toBeLessThanOrEqual(100);
  profiles.forget([1_000]);
  expect(profiles.get("user1000")).toBeUndefined();
});

test("a user asked for by a new name, before the rename was told of, is gone by the old one after that", async () => {
  const profiles = new Profiles();
  await profiles.load("old", async () => entry(1));
  // The rename is on disk, which is where this comes from, but its acknowledgement is still under way.
  await profiles.load("new", async () => entry(1));
  profiles.forget([1]);
  expect([profiles.get("old"), profiles.get("new")]).toEqual([undefined, undefined]);
});

describe("the profiles of two threads, which share a count of changes", () => {
  const memory = new SharedArrayBuffer(Changes.bytes);
  const inThread = () => new Profiles(6_400, new Changes(memory));

  test("lose a user at the same time, whichever of them is told", async () => {
    const [one, two] = [inThread(), inThread()];
    for (const profiles of [one, two]) {
      await profiles.load("ada", async () => entry(1));
      await profiles.load("bob", async () => entry(2));
    }
    two.forget([1]);
    for (const profiles of [one, two]) {
      expect(profiles.get("ada")).toBeUndefined();
      expect(profiles.get("bob")).toBeDefined();
    }
    await one.load("ada", async () => entry(1));
    expect(one.get("ada")).toBeDefined();
    expect(two.get("ada")).toBeUndefined();
  });

  test("do not keep what another thread changed while it was loaded", async () => {
    const [one, two] = [inThread(), inThread()];
    await one.load("ada", async () => {
      two.forget([1]);
      return entry(1);
    });
    expect(one.get("ada")).toBeUndefined();
  });
});
