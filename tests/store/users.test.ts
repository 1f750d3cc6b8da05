import { beforeEach, describe, expect, test } from "bun:test";
import type { Store } from "../../src/domain/store.ts";
import { type UserInput, userFrom } from "../../src/domain/users.ts";
import { ownStore } from "../support/store.ts";

const at = "2026-01-02T03:04:05Z";

let store: Store;
beforeEach(async () => {
  ({ store } = await ownStore());
});

const find = (name: string) => store.users.find(name);
const stored = (input: UserInput, created_at = at) => ({ ...userFrom(input), created_at });

test("concurrent look-ups each find their user", async () => {
  const names = ["null", "NULL_", "ada", "x-1"];
  await store.users.upsert(
    names.map((username, i) => userFrom({ id: i + 1, username })),
    at,
  );
  const strange = ["", '"', "\\", "{", "}", ",", "{null}", "'", "undefined", "\ud800"];
  const found = await Promise.all([...names, ...strange].map(find));
  expect(found.map((user) => user?.username)).toEqual([...names, ...strange.map(() => undefined)]);
});

describe("a user is found as it was stored", () => {
  const every = (from: number, to: number) =>
    String.fromCodePoint(...Array.from({ length: to - from }, (_, i) => from + i));
  const most = Number.MAX_SAFE_INTEGER;
  test.each<[string, Omit<UserInput, "id" | "username">]>([
    ["controls and ASCII", { bio: every(1, 128), display_name: every(32, 127) }],
    ["beyond ASCII", { bio: every(128, 0x800), display_name: "한국방 小魚 👩‍👩‍👧 é \u2028\ufeff\uffff" }],
    ["half a surrogate becomes U+FFFD", { bio: "a\ud800b\udc00", display_name: "\udfff" }],
    ["what looks like JSON", { bio: '{"id":1}\\u0041\\', display_name: '"' }],
    ["the longest", { bio: "\u0001".repeat(10_000), display_name: "語".repeat(200) }],
    ["the greatest numbers", { followers_count: most, following_count: most, is_verified: true }],
    ["a time of its own", { created_at: "1999-12-31T23:59:59.123456789Z" }],
  ])("%s", async (_, fields) => {
    const user = { id: most, username: "User-_1", ...fields };
    await store.users.upsert([userFrom(user)], at);
    expect(await find("user-_1")).toEqual(stored(user, fields.created_at));
    await store.users.remove(most, 0);
  });
});
