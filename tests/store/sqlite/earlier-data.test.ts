import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { migrations } from "../../../src/store/sqlite/database/migrations.ts";
import { keptLog } from "../../support/kept-log.ts";
import { event } from "../../support/publishing.ts";
import { ownReceiver } from "../../support/receiver.ts";
import { Clock, json, ownDirectory, ownServer, type TestServer } from "../../support/server.ts";
import { until } from "../../support/until.ts";

/*
 * fixtures/early-version.db.gz is what an executable of 21 November 2026 wrote (commit 10598d08, up to the migration
 * 0007_was_it_sent) before it was killed: an endpoint that had failed once, one that had answered 410, a replay whose
 * first deliveries had no answer yet, an application with the event stream, and what their clients had been given.
 */

const file = join(import.meta.dir, "fixtures/early-version.db.gz");
const killedAt = Date.parse("2026-11-24T04:04:42.400Z");

const failing = {
  id: "01M85VMB29Q2C3TNPF1VHR1VG0",
  token: "onair_at_-bK9OKuwXbB-TPUOc-ACn7d4o47ZCrneCUI-37F_Bnc",
  delivery: "01M85VMCS3W4WM5R5E9GVHXVG0",
  dueAt: Date.parse("2026-11-24T04:04:47.214Z"),
};
const gone = "01M85VMB2K8RCPTX7WCVNMTV01";
const replaying = "onair_at_HkKE5M4DnEsmMavdd_Os394aZ-sqEzcBCEHLzosStDs";
const stream = {
  client_id: "01M85VMB2Y8EW2S8RVC8VT3980",
  client_secret: "onair_cs_FcSEzCzONZjFRvKIirtOQLUT6sd0WG842blIL8M_PWs",
  token: "onair_at_92rX1o390VnGrrtHhOUfaR-dfFZq51I5AO1X8kWtS-8",
  subscription: "01M85VMB31F5JA41T934M4KJC0",
};
const user = {
  token: "onair_at_0jDLSzIYNfkFIAumR8AuWVOuV5Brjq8x1_1yxZtifSM",
  refreshToken: "onair_rt_Ke3hwAdx7rjTExS6R3I_bBZzJSHMwp3W7iG5f63le6o",
};
const published = { key: "order-1", answer: { id: "01M85VMB3KA5R1CEBDEFNXNWJ1", deliveries: 1 } };

const person = (user_id: number, username: string, channel_slug: string, is_verified: boolean) => ({
  is_anonymous: false,
  user_id,
  username,
  is_verified,
  profile_picture: `https://images.example.com/users/${user_id}/picture.webp`,
  channel_slug,
  identity: null,
});
/** The data of all events that it published. */
const data = {
  broadcaster: person(4820113, "MayaPlays", "mayaplays", true),
  follower: person(7351942, "quiet_otter", "quiet-otter", false),
};

/** A server on that data, at the moment of the kill. All of its webhooks go to `receiver`. */
async function served() {
  const receiver = ownReceiver();
  const directory = ownDirectory();
  const path = join(directory, "onair.db");
  writeFileSync(path, Bun.gunzipSync(await Bun.file(file).bytes()));
  const db = new Database(path);
  db.run("UPDATE applications SET webhook_url = ? || '?' || name WHERE webhook_url IS NOT NULL", [
    receiver.url,
  ]);
  db.close();
  const clock = new Clock(killedAt);
  const { log, lines } = keptLog();
  const server = await ownServer({ data: directory, clock, isOnSqlite: true, log });
  const requestsOf = (subscriptionOf: string) =>
    receiver.received.filter(({ headers }) => headers["onair-subscription-id"] === subscriptionOf);
  return { server, clock, directory, lines, requestsOf };
}

async function subscriptionOf(server: TestServer, token: string): Promise<string> {
  const answer = await server.get("/public/v1/events/subscriptions", token);
  const { data } = await json<{ data: { id: string; event: string }[] }>(answer);
  return data.find(({ event }) => event === "channel.followed")?.id ?? "";
}

test("tokens, consents and client secrets of an early version hold", async () => {
  const { server } = await served();
  for (const token of [failing.token, replaying, stream.token, user.token])
    expect((await server.get("/public/v1/users/ada", token)).status).toBe(200);
  expect(await subscriptionOf(server, stream.token)).toBe(stream.subscription);
  const consents = await json<{ data: unknown[] }>(
    await server.admin("GET", "/admin/v1/users/1001/consents"),
  );
  expect(consents.data).toHaveLength(1);
  const { client_id, client_secret } = stream;
  const grants = [
    { grant_type: "client_credentials" },
    { grant_type: "refresh_token", refresh_token: user.refreshToken },
  ];
  for (const grant of grants) {
    const body = new URLSearchParams({ client_id, client_secret, ...grant });
    const { access_token } = await json<{ access_token: string }>(
      await server.get("/oauth/token", undefined, { method: "POST", body }),
    );
    expect((await server.get("/public/v1/users/ada", access_token)).status).toBe(200);
  }
});

test("the log names each migration, once", async () => {
  const { server, clock, directory, lines } = await served();
  const migrated = async (of: () => Promise<string[]>) =>
    (await of())
      .map((line) => JSON.parse(line) as { event: string; migration?: string })
      .filter((line) => line.event === "migrating")
      .map(({ migration }) => migration);
  const names = migrations.map(({ name }) => name);
  expect(await migrated(lines)).toEqual(names.slice(names.indexOf("0007_was_it_sent") + 1));
  await server.stop();
  const again = keptLog();
  await ownServer({ data: directory, clock, isOnSqlite: true, log: again.log });
  expect(await migrated(again.lines)).toEqual([]);
});

test("what it published under an idempotency key is answered as before, and not published again", async () => {
  const { server } = await served();
  const sequence = async () => {
    const path = `/public/v1/events/subscriptions/${stream.subscription}`;
    return (await json<{ data: { sequence: number } }>(await server.get(path, stream.token))).data.sequence;
  };
  const before = await sequence();
  const body = event("channel.followed", { broadcaster_user_id: 1004, data });
  const publish = (key: string) => server.admin("POST", "/admin/v1/events", body, { "idempotency-key": key });
  const again = await publish(published.key);
  expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([202, "true"]);
  expect(await json<unknown>(again)).toEqual(published.answer);
  expect(await sequence()).toBe(before);
  expect((await publish("order-2")).status).toBe(202);
  expect(await sequence()).toBe(before + 1);
});

test("a retry comes at its time and not before, once, under its id", async () => {
  const { server, clock, requestsOf } = await served();
  const subscription = await subscriptionOf(server, failing.token);
  const path = `/public/v1/events/deliveries/${failing.delivery}`;
  const delivery = async () =>
    (
      await json<{ data: { status: string; next_attempt_at: string | null } }>(
        await server.get(path, failing.token),
      )
    ).data;
  expect(Date.parse((await delivery()).next_attempt_at ?? "")).toBe(failing.dueAt);
  clock.advance(failing.dueAt - killedAt - 100);
  const other = event("raffle.won", { data: { winner: "ada" } });
  expect((await server.admin("POST", "/admin/v1/events", other)).status).toBe(202);
  expect(requestsOf(subscription)).toEqual([]);
  clock.advance(200);
  await until(async () => (await delivery()).status === "delivered");
  const attempts = requestsOf(subscription).map(({ headers }) => [
    headers["webhook-id"],
    headers["onair-attempt"],
  ]);
  expect(attempts).toEqual([[failing.delivery, "2"]]);
});

test("an endpoint that answered 410 stays disabled; enabled, it gets what was kept", async () => {
  const { server, requestsOf } = await served();
  const path = `/admin/v1/applications/${gone}/endpoint`;
  expect(await json<unknown>(await server.admin("GET", path))).toMatchObject({
    status: "disabled",
    disabled_reason: "gone",
  });
  const listed = await json<{ data: { subscription_id: string }[] }>(
    await server.admin("GET", `/admin/v1/deliveries?application_id=${gone}`),
  );
  const sequences = () =>
    requestsOf(listed.data[0]?.subscription_id ?? "").map(({ headers }) => headers["onair-sequence"]);
  expect(sequences()).toEqual([]);
  expect((await server.admin("POST", `${path}/enable`)).status).toBe(200);
  await until(() => sequences().length >= 2);
  expect(sequences().toSorted()).toEqual(["2", "3"]);
});

test("a replay goes on: each of its deliveries comes once more, with the body as it was", async () => {
  const { server, requestsOf } = await served();
  const subscription = await subscriptionOf(server, replaying);
  const replay = async () => {
    const { data } = await json<{ data: { state: string; matched: number; queued: number }[] }>(
      await server.get("/public/v1/events/replays", replaying),
    );
    return data[0];
  };
  await until(async () => (await replay())?.state === "completed" && requestsOf(subscription).length >= 3);
  expect(await replay()).toMatchObject({ matched: 3, queued: 3 });
  const sent = requestsOf(subscription);
  expect(sent.map(({ headers }) => headers["onair-sequence"]).sort()).toEqual(["1", "2", "3"]);
  for (const { body } of sent) expect(JSON.parse(body)).toMatchObject({ type: "channel.followed", data });
});
