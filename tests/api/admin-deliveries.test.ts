import { expect, test } from "bun:test";
import { hour, isoTime } from "../../src/domain/time.ts";
import { event, publishAll, settled, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { testReceiver } from "../support/receiver.ts";
import { Clock, json, testServer } from "../support/server.ts";

const clock = new Clock();
let status = 204;

const receiver = testReceiver(() => new Response(null, { status }));
const server = await testServer({ clock, users });
const one = await server.application({ webhook_url: receiver.url });
const two = await server.application({ webhook_url: `${receiver.url}/2` });
for (const app of [one, two]) await subscribe(server, app, ["kicks.gifted"]);
await publishAll(server, [event("kicks.gifted"), event("kicks.gifted")]);
await settled(server);

interface Delivery {
  id: string;
  app_id: string;
  event_id: string;
  status: string;
}
interface List {
  data: Delivery[];
  pagination: { cursor: string; has_more: boolean };
}
const list = async (query = "") => json<List>(await server.admin("GET", `/admin/v1/deliveries${query}`));

test("operators see the deliveries of all applications, or of one", async () => {
  const { data } = await list();
  expect(data.map(({ app_id }) => app_id).sort()).toEqual([one.id, one.id, two.id, two.id].sort());
  expect((await list(`?application_id=${two.id}`)).data.map(({ app_id }) => app_id)).toEqual([
    two.id,
    two.id,
  ]);
  const page = await list("?limit=3");
  const rest = await list(`?limit=3&cursor=${page.pagination.cursor}`);
  expect([...page.data, ...rest.data].map(({ id }) => id)).toEqual(data.map(({ id }) => id));
  const shown = await server.admin("GET", `/admin/v1/deliveries/${data[0]?.id}`);
  expect(await json(shown)).toMatchObject({ id: data[0]?.id, request: { method: "POST" } } as never);
});

test("operators see the deliveries of an event to all its subscribers", async () => {
  const [newest] = (await list()).data;
  const { data, pagination } = await list(`?event_id=${newest?.event_id}`);
  expect(data.map(({ app_id }) => app_id).sort()).toEqual([one.id, two.id].sort());
  expect(new Set(data.map(({ event_id }) => event_id))).toEqual(new Set([newest?.event_id ?? ""]));
  expect(pagination.has_more).toBe(false);
  const of = await list(`?event_id=${newest?.event_id}&application_id=${two.id}&status=delivered`);
  expect(of.data.map(({ app_id }) => app_id)).toEqual([two.id]);
});

test.each(["deliveries", "subscriptions", "notices"])(
  "a list of %s for no application is refused; that of one that has nothing is empty",
  async (name) => {
    const of = (id: string) => server.admin("GET", `/admin/v1/${name}?application_id=${id}`);
    const refused = await of("01KATHZX5M9S3E6R8B2D4F7G1H");
    expect(refused.status).toBe(400);
    expect(await json<object>(refused)).toMatchObject({
      errors: [{ in: "query", field: "application_id", message: "is not an application" }],
    });
    const empty = await of((await server.application()).id);
    expect([empty.status, (await json<List>(empty)).data]).toEqual([200, []]);
  },
);

test("operators send one again, or a range", async () => {
  const { data } = await list(`?application_id=${one.id}`);
  const before = receiver.received.length;
  const retried = await server.admin("POST", `/admin/v1/deliveries/${data[0]?.id}/retry`);
  expect([retried.status, (await json<Delivery>(retried)).status]).toEqual([202, "pending"]);
  await receiver.arrived(before + 1);
  const range = { from: isoTime(clock.ms - hour), to: isoTime(clock.ms + hour) };
  const made = await server.admin("POST", "/admin/v1/replays", { application_id: two.id, ...range });
  const { id } = await json<{ id: string }>(made);
  await receiver.arrived(before + 3);
  await settled(server);
  const replay = await json(await server.admin("GET", `/admin/v1/replays/${id}`));
  expect(replay).toMatchObject({ app_id: two.id, state: "completed", matched: 2 } as never);
  const unknown = await server.admin("POST", "/admin/v1/replays", { application_id: "x", ...range });
  expect(unknown.status).toBe(400);
});

test("endpoints that are not well are listed, and can be enabled again", async () => {
  const endpoints = async (query = "") =>
    (
      await json<{ data: Record<string, unknown>[] }>(
        await server.admin("GET", `/admin/v1/endpoints${query}`),
      )
    ).data;
  expect(await endpoints()).toEqual([]);
  status = 410;
  await publishAll(server, [event("kicks.gifted")]);
  await settled(server);
  const both = [one.id, two.id].sort();
  expect((await endpoints()).map(({ app_id }) => app_id)).toEqual(both);
  expect(await endpoints("?limit=1")).toMatchObject([
    {
      status: "disabled",
      disabled_reason: "gone",
      disabled_at: isoTime(clock.ms),
      failures: 1,
      last_failure: { status: 410, error: "The answer was 410." },
    },
  ]);
  const first = await json<{ pagination: { cursor: string } }>(
    await server.admin("GET", "/admin/v1/endpoints?limit=1"),
  );
  const { cursor } = first.pagination;
  expect((await endpoints(`?cursor=${cursor}`)).map(({ app_id }) => app_id)).toEqual([both[1]]);

  await publishAll(server, [event("kicks.gifted")]);
  await settled(server);
  status = 204;
  const before = receiver.received.length;
  const enabled = await server.admin("POST", `/admin/v1/applications/${one.id}/endpoint/enable`);
  expect(await json(enabled)).toMatchObject({
    app_id: one.id,
    status: "enabled",
    disabled_at: null,
  } as never);
  await receiver.arrived(before + 1);
  await settled(server);
  expect((await endpoints()).map(({ app_id }) => app_id)).toEqual([two.id]);
});
