import { beforeEach, describe, expect, test } from "bun:test";
import type { ApplicationFilter, ApplicationState } from "../../src/domain/applications.ts";
import { categoryFrom } from "../../src/domain/categories.ts";
import { newEndpoint } from "../../src/domain/endpoints.ts";
import { channelFrom, livestreamFrom } from "../../src/domain/livestreams.ts";
import type { Store } from "../../src/domain/store.ts";
import { userFrom } from "../../src/domain/users.ts";
import { ownStore, storedApplication } from "../support/store.ts";

const at = "2026-01-02T03:04:05Z";
const all = { app_id: null, broadcaster_user_id: null, channel: null, event: null };

describe("lists for people", () => {
  let store: Store;
  beforeEach(async () => {
    ({ store } = await ownStore());
  });

  test("subscriptions have the names of broadcaster and channel, and are found by either", async () => {
    await store.users.upsert(
      [userFrom({ id: 1, username: "Maya" }), userFrom({ id: 2, username: "bob" })],
      at,
    );
    await store.channels.upsert([
      channelFrom({ id: 21, user_id: 1, slug: "maya-2", name: "Second" }),
      channelFrom({ id: 20, user_id: 1, slug: "maya", name: "Maya live" }),
    ]);
    const [one, two] = [await storedApplication(store), await storedApplication(store)];
    const to = (broadcaster_user_id: number, event: string) => ({ broadcaster_user_id, event, version: 1 });
    const followed = to(1, "channel.followed");
    const wanted = [followed, to(2, "channel.followed"), to(1, "kicks.gifted")];
    await store.subscriptions.subscribe({ applicationId: one, wanted, limit: 10 }, 0);
    await store.subscriptions.subscribe({ applicationId: two, wanted: [followed], limit: 10 }, 0);
    const shown = async (filter: object, after = "", limit = 10) =>
      (await store.subscriptions.page({ ...all, ...filter }, after, limit)).map(
        ({ app_id, username, channel_slug, channel_name, event }) =>
          `${app_id === one ? "one" : "two"} ${username} ${channel_slug} ${channel_name} ${event}`,
      );
    const maya = "Maya maya Maya live";
    expect(await shown({})).toHaveLength(4);
    expect((await shown({ app_id: one })).sort()).toEqual([
      `one ${maya} channel.followed`,
      `one ${maya} kicks.gifted`,
      "one bob null null channel.followed",
    ]);
    const followers = [
      `one ${maya} channel.followed`,
      `one ${maya} kicks.gifted`,
      `two ${maya} channel.followed`,
    ];
    expect((await shown({ broadcaster_user_id: 1 })).sort()).toEqual(followers);
    expect((await shown({ channel: "maya-2" })).sort()).toEqual(followers);
    expect(await shown({ channel: "nobody" })).toEqual([]);
    expect(await shown({ channel: "maya", event: "kicks.gifted" })).toEqual([followers[1] ?? ""]);
    const [first] = await store.subscriptions.page(all, "", 1);
    expect(await shown({}, first?.id)).toHaveLength(3);
  });

  test("applications are found by a part of their name without regard to case and diacritics, and by owner", async () => {
    await store.users.upsert([userFrom({ id: 7, username: "owner" })], at);
    await storedApplication(store, { name: "Éclair Bot", owner_user_id: 7 });
    await storedApplication(store, { name: "50% Łódź" });
    await storedApplication(store, { name: "eclair" });
    const found = async (filter: ApplicationFilter, limit = 10) =>
      (await store.applications.page("", limit, filter)).map(({ name }) => name).sort();
    expect(await found({ name: "ECLAIR" })).toEqual(["eclair", "Éclair Bot"].sort());
    expect(await found({ name: "ECLAIR" }, 1)).toHaveLength(1);
    expect(await found({ name: "%" })).toEqual(["50% Łódź"]);
    expect(await found({ name: "_" })).toEqual([]);
    expect(await found({ owner_user_id: 7 })).toEqual(["Éclair Bot"]);
    expect(await found({ name: "eclair", owner_user_id: 8 })).toEqual([]);
  });

  test("applications are found by the state of their delivery, by a part of their URL, and by id", async () => {
    const url = "https://Bots.example/hook";
    const made = {
      enabled: await storedApplication(store, { name: "well", webhook_url: url }),
      no_webhook: await storedApplication(store, { name: "new", webhook_url: null }),
      stream_only: await storedApplication(store, { name: "stream", delivery: "stream" }),
      disabled_by_operator: await storedApplication(store, { name: "off", webhook_url: url }),
      failing: await storedApplication(store, { name: "late", webhook_url: url }),
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
  });
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

  expect(await report({ category_id: 3 })).toEqual(["category_id 3 is not a known category"]);
  expect(await report({ channel_id: 2 })).toEqual(["channel_id 2 is not a known channel"]);
  expect(await store.livestreams.all()).toEqual([changed]);

  expect(await report({ category_id: 2, viewers: 7 })).toEqual([null]);
  expect(await store.livestreams.all()).toEqual([{ ...live, category_id: 2, viewers: 7, started_at: first }]);
  expect(await report({ category_id: 2, started_at: second })).toEqual([null]);
  expect(await store.livestreams.all()).toEqual([{ ...live, category_id: 2, started_at: second }]);
});
