import { expect, test } from "bun:test";
import { categoryFrom } from "../../src/domain/categories.ts";
import { channelFrom, livestreamFrom } from "../../src/domain/livestreams.ts";
import { userFrom } from "../../src/domain/users.ts";
import { ownStore } from "../support/store.ts";

const [first, second] = ["2026-01-14T16:00:00Z", "2026-01-14T16:00:05Z"];

test("a report keeps what it says, moves a channel, and leaves out only the start", async () => {
  const { store } = await ownStore();
  const live = { channel_id: 1, category_id: 1, viewers: 5, title: "Hello", language: "English" };
  const report = (row: object) => store.livestreams.upsert([livestreamFrom({ ...live, ...row })], second);
  await store.users.upsert([userFrom({ id: 1, username: "one" })], first);
  await store.channels.upsert([channelFrom({ id: 1, user_id: 1, slug: "one" })]);
  await store.categories.upsert([1, 2].map((id) => categoryFrom({ id, name: `C${id}`, slug: `c${id}` })));
  await store.livestreams.upsert([livestreamFrom(live)], first);
  expect(await store.livestreams.all()).toEqual([{ ...live, started_at: first }]);

  expect(await report({ viewers: 6, title: "Changed" })).toEqual([null]);
  const changed = { ...live, viewers: 6, title: "Changed", started_at: first };
  expect(await store.livestreams.all()).toEqual([changed]);

  expect(await report({ category_id: 3 })).toEqual(["category_id 3 is not a known category"]);
  expect(await report({ channel_id: 2 })).toEqual(["channel_id 2 is not a known channel"]);
  expect(await store.livestreams.all()).toEqual([changed]);

  expect(await report({ category_id: 2, viewers: 7 })).toEqual([null]);
  expect(await store.livestreams.all()).toEqual([{ ...live, category_id: 2, viewers: 7, started_at: first }]);
  expect(await report({ category_id: 2, started_at: second })).toEqual([null]);
  expect(await store.livestreams.all()).toEqual([{ ...live, category_id: 2, started_at: second }]);
});
