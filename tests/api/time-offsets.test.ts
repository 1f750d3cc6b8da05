import { expect, test } from "bun:test";
import { builtInEventTypes } from "../../src/domain/events/built-in.ts";
import { subscribe } from "../support/publishing.ts";
import { testReceiver } from "../support/receiver.ts";
import { category, channel, json, live, testServer, user } from "../support/server.ts";

const server = await testServer({ users: [user(1)] });
await server.load("categories", [category(5)]);
await server.load("channels", [channel(1)]);
const given = "2026-01-14T18:08:06.5+02:00";
const utc = "2026-01-14T16:08:06.5Z";

test("what the platform reports is kept and exported in UTC", async () => {
  await server.admin("PUT", "/admin/v1/users/1", { username: "one", created_at: given });
  await server.load("users", [user(2, "two", { created_at: given })]);
  await server.load("livestreams", [live(1, 5, 1, { started_at: given })]);
  for (const path of ["users/1", "users/2", "users/batch", "livestreams"]) {
    const text = await (await server.admin("GET", `/admin/v1/${path}`)).text();
    expect([path, text.includes(utc), text.includes(given)]).toEqual([path, true, false]);
  }
});

/** All texts in a value that are times get an offset. */
const withOffsets = (value: unknown) =>
  JSON.parse(JSON.stringify(value), (name, inner) => (/_at$/.test(name) && inner !== null ? given : inner));

test.each(builtInEventTypes.map((type) => [type.name, type] as const))(
  "the times of %s are sent in UTC",
  async (name, { version, example }) => {
    const { id, stored } = await published({ name, version, data: withOffsets(example) });
    const times = JSON.stringify(example).match(/_at":"/g)?.length ?? 0;
    expect(stored.split(`_at":"${utc}"`)).toHaveLength(times + 1);
    // The same event with the time in UTC: nothing else of it changes.
    const again = JSON.parse(JSON.stringify(withOffsets(example)).replaceAll(given, utc));
    expect(JSON.parse(stored).data).toEqual(again);
    expect((await publish({ id, name, version, data: again })).status).toBe(202);
  },
);

const receiver = testReceiver();
const app = await server.application({ webhook_url: receiver.url });
const publish = (event: object) =>
  server.admin("POST", "/admin/v1/events", { broadcaster_user_id: 1, ...event });

/** Publishes an event and returns its body as it is sent. */
async function published(event: { name: string; version: number; data: object }) {
  await subscribe(server, app, [event.name], 1);
  const id = `offsets-${event.name}`;
  const before = receiver.received.length;
  expect((await publish({ ...event, id })).status).toBe(202);
  await receiver.arrived(before + 1);
  return { id, stored: receiver.received.at(-1)?.body ?? "" };
}

test.each(["deliveries", "audit"])("?after= and ?before= of %s take an offset", async (list) => {
  const query = (after: string, before: string) =>
    server.admin("GET", `/admin/v1/${list}?${new URLSearchParams({ after, before })}`);
  expect((await query("2026-01-14T16:08:06+00:00", "2026-01-14T16:08:06-00:01")).status).toBe(200);
  // One is the same time as the other.
  expect((await query("2026-01-14T18:08:06+02:00", "2026-01-14T16:08:06Z")).status).toBe(400);
  const unescaped = await server.admin("GET", `/admin/v1/${list}?after=2026-01-14T16:08:06+00:00`);
  expect([unescaped.status, await unescaped.text()]).toEqual([400, expect.stringContaining("%2B")]);
});

test("the range of a replay takes an offset and is shown in UTC", async () => {
  const range = { from: "2026-01-14T18:00:00+02:00", to: "2026-01-14T19:00:00+02:00", dry_run: true };
  const answer = await server.post("/public/v1/events/replays", range, app.token);
  expect(await json<object>(answer)).toMatchObject({
    data: { from: "2026-01-14T16:00:00.000Z", to: "2026-01-14T17:00:00.000Z" },
  });
});
