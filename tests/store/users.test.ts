import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type UserInput, userFrom } from "../../src/domain/users.ts";
import { openStore } from "../../src/store/sqlite/store.ts";
import { seededRandom } from "../bench/support/random.ts";

const directory = mkdtempSync(join(tmpdir(), "onair-users-"));
const store = openStore(directory);
afterAll(async () => {
  await store.close();
  rmSync(directory, { recursive: true });
});

const at = "2026-01-02T03:04:05Z";
const picture = "https://example.com/nobody.png";

/** Ids and profiles, which stand between the texts of the form. */
async function profilesOf(...names: string[]) {
  const found = await store.users.profiles(names, { picture, before: '<"é', after: "> '%s?1" });
  return found.map((profile) => {
    if (!profile) return null;
    const text = new TextDecoder().decode(profile.bytes);
    expect(text.startsWith('<"é{') && text.endsWith("}> '%s?1")).toBeTrue();
    return [profile.id, text.slice(3, -7)];
  });
}

const profileOf = (input: UserInput, created_at = at) => {
  const user = { ...userFrom(input), created_at };
  return [user.id, JSON.stringify({ ...user, profile_picture: user.profile_picture ?? picture })];
};

test("users are found by name, one for each name and in their order, without regard to ASCII case", async () => {
  const ada = { id: 1, username: "Ada_L", bio: "été", followers_count: 3, is_verified: true };
  const bob = { id: 2, username: "bob", profile_picture: "https://example.com/bob.png" };
  await store.users.upsert([userFrom(ada), userFrom(bob)], at);
  const found = await profilesOf("BOB", "nobody", "ada_l", "ada_l", "");
  expect(found).toEqual([profileOf(bob), null, profileOf(ada), profileOf(ada), null]);
  expect(await profilesOf()).toEqual([]);
  expect(await profilesOf("nobody")).toEqual([null]);
  expect(await profilesOf("nobody", "bob", "nobody", "nobody")).toEqual([null, profileOf(bob), null, null]);
});

test("what is found again after a change is what was changed", async () => {
  const ids = async () => (await profilesOf("first", "then")).map((found) => found?.[0]);
  const named = (username: string) => store.users.upsert([userFrom({ id: 3, username })], at);
  await named("first");
  expect(await ids()).toEqual([3, undefined]);
  await named("then");
  expect(await ids()).toEqual([undefined, 3]);
  await store.users.remove(3, 0);
  expect(await ids()).toEqual([undefined, undefined]);
});

test("among hundreds that come, go and take each other's names nobody is shown as another", async () => {
  const random = seededRandom(7);
  const some = (length: number) => Math.floor(random() * length);
  const nameOf = new Map<number, string>();
  const idOf = new Map<string, number>();
  for (let step = 0; step < 300; step++) {
    const [id, name] = [1_000 + some(300), `Name${some(400)}`];
    const before = nameOf.get(id);
    if (step % 5 === 0) await store.users.remove(id, 0);
    else if ((idOf.get(name) ?? id) === id) {
      await store.users.upsert([userFrom({ id, username: name })], at);
      nameOf.set(id, name);
    }
    if (before !== undefined && (step % 5 === 0 || nameOf.get(id) !== before)) idOf.delete(before);
    if (step % 5 === 0) nameOf.delete(id);
    else if (nameOf.get(id) === name) idOf.set(name, id);
    const asked = Array.from({ length: 40 }, () => `Name${some(400)}`);
    const found = await profilesOf(...asked.map((one) => one.toLowerCase()));
    expect(found).toEqual(
      asked.map((username) => {
        const owner = idOf.get(username);
        return owner === undefined ? null : profileOf({ id: owner, username });
      }),
    );
  }
  expect(nameOf.size).toBeGreaterThan(100);
});

describe("a profile is what JSON.stringify makes of the user", () => {
  const every = (from: number, to: number) =>
    String.fromCodePoint(...Array.from({ length: to - from }, (_, i) => from + i));
  const most = Number.MAX_SAFE_INTEGER;
  const cases: readonly (readonly [string, Omit<UserInput, "id" | "username">])[] = [
    ["controls and ASCII", { bio: every(1, 128), display_name: every(32, 127) }],
    [
      "beyond ASCII",
      { bio: every(128, 0x800), display_name: "한국방 小魚 👩‍👩‍👧 é e\u0301 \u2028\u2029\ufeff\uffff" },
    ],
    ["half a surrogate", { bio: "a\ud800b\udc00", display_name: "\udfff" }],
    ["what looks like JSON", { bio: '{"id":1}\\u0041\\', display_name: '"' }],
    ["what looks like a number or null", { bio: "1e400", display_name: "null" }],
    ["only spaces and line breaks", { bio: " \n\r\n ", display_name: " " }],
    ["the longest", { bio: "\u0001".repeat(10_000), display_name: "語".repeat(200) }],
    ["the greatest numbers", { followers_count: most, following_count: most, is_verified: true }],
    ["a picture with quotes", { profile_picture: "https://example.com/a'b?c=%22&d" }],
    ["a time of its own", { created_at: "1999-12-31T23:59:59.123456789Z" }],
  ];
  for (const [i, [title, fields]] of cases.entries()) {
    test(title, async () => {
      const id = i === 0 ? most : 100 + i;
      const user = { id, username: `User-_${i}`, ...fields };
      await store.users.upsert([userFrom(user)], at);
      const found = await profilesOf(user.username, "nobody", user.username.toUpperCase());
      expect(found).toEqual([profileOf(user, user.created_at), null, profileOf(user, user.created_at)]);
    });
  }
});
