import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { userFrom } from "../../src/domain/users.ts";
import { openStore } from "../../src/store/sqlite/store.ts";

const directory = mkdtempSync(join(tmpdir(), "onair-users-"));
const store = openStore(directory);
afterAll(async () => {
  await store.close();
  rmSync(directory, { recursive: true });
});

test("users are found by name, one for each name and in their order, without regard to ASCII case", async () => {
  const ada = { id: 1, username: "Ada_L", bio: "été", followers_count: 3, is_verified: true };
  const bob = { id: 2, username: "bob", profile_picture: "https://example.com/bob.png" };
  const created_at = "2026-01-02T03:04:05Z";
  await store.users.upsert([userFrom(ada), userFrom(bob)], created_at);
  const found = await store.users.findAll(["BOB", "nobody", "ada_l", "ada_l", ""]);
  const adaFound = { ...userFrom(ada), created_at };
  expect(found).toEqual([{ ...userFrom(bob), created_at }, null, adaFound, adaFound, null]);
  expect(await store.users.findAll([])).toEqual([]);
});

test("what is found again after a change is what was changed", async () => {
  const at = "2026-01-02T03:04:05Z";
  const named = (username: string) => store.users.upsert([userFrom({ id: 3, username })], at);
  await named("first");
  expect((await store.users.findAll(["first", "then"])).map((user) => user?.id)).toEqual([3, undefined]);
  await named("then");
  expect((await store.users.findAll(["first", "then"])).map((user) => user?.id)).toEqual([undefined, 3]);
  await store.users.remove(3, 0);
  expect(await store.users.findAll(["first", "then"])).toEqual([null, null]);
});
