import { expect, test } from "bun:test";
import type { ApplicationFilter, ApplicationState } from "../../src/domain/applications.ts";
import { categoryFrom } from "../../src/domain/categories.ts";
import { newEndpoint } from "../../src/domain/endpoints.ts";
import { channelFrom, livestreamFrom } from "../../src/domain/livestreams.ts";
import { userFrom } from "../../src/domain/users.ts";
import { ownStore, storedApplication } from "../support/store.ts";

const at = "2026-01-02T03:04:05Z";

test("applications are found by the state of their delivery, by a part of their URL, and by id", async () => {
  const { store } = await ownStore();
  const url = "https://Bots.example/hook";
  const made = {
    enabled: await storedApplication(store, { name: "well", webhook_url: url }),
    no_webhook: await storedApplication(store, { name: "new", webhook_url: null }),
    stream_only: await storedApplication(store, { name: "stream", delivery: "stream" }),
    disabled_by_operator: await storedApplication(store, { name: "off", webhook_url: url }),
    failing: await storedApplication(store, { name: "50% late", webhook_url: url }),
  };
  await store.applications.update(made.disabled_by_operator, { disabled: true }, Date.parse(at));
  const failing = { ...newEndpoint(made.failing), failing_since: Date.parse(at), failures: 1 };
  await store.deliveries.record([], [failing]);
  for (const [state, id] of Object.entries(made)) {
    const found = await store.applications.page("", 10, { state: state as ApplicationState });
    expect([state, found.map((one) => one.id)]).toEqual([state, [id]]);
  }
  const ids = async (filter: ApplicationFilter) =>
    (await store.applications.page("", 10, filter)).map(({ id }) => id);
  expect(await ids({ find: "bots.EXAMPLE", state: "failing" })).toEqual([made.failing]);
  expect(await ids({ find: made.no_webhook.toLowerCase() })).toEqual([made.no_webhook]);
  expect(await ids({ ids: [made.enabled, made.no_webhook], find: "new" })).toEqual([made.no_webhook]);
  expect(await ids({ find: "nowhere" })).toEqual([]);
  expect([await ids({ name: "%" }), await ids({ name: "_" })]).toEqual([[made.failing], []]);
});

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

  expect(await report({ category_id: 3 })).toEqual([
    "category_id 3 is not a known category: import categories first",
  ]);
  expect(await report({ channel_id: 2 })).toEqual([
    "channel_id 2 is not a known channel: import channels first",
  ]);
  expect(await store.livestreams.all()).toEqual([changed]);

  expect(await report({ category_id: 2, viewers: 7 })).toEqual([null]);
  expect(await store.livestreams.all()).toEqual([{ ...live, category_id: 2, viewers: 7, started_at: first }]);
  expect(await report({ category_id: 2, started_at: second })).toEqual([null]);
  expect(await store.livestreams.all()).toEqual([{ ...live, category_id: 2, started_at: second }]);
});
