import { describe, expect, test } from "bun:test";
import { hour } from "../../src/domain/time.ts";
import { clientCredentials } from "../support/oauth.ts";
import {
  event as eventOf,
  nothingPending,
  publish as publishEvent,
  subscribedReceiver,
} from "../support/publishing.ts";
import { type Answer, ownReceiver } from "../support/receiver.ts";
import { Clock, refusal, type TestApplication, testServer } from "../support/server.ts";

// What a change of an application means for its deliveries.

const clock = new Clock();
const path = "/admin/v1/applications";
const followed = "channel.followed";
const users = [{ id: 7, username: "maya" }];
const server = await testServer({ clock, users });

const patch = (id: string, body: object) => server.admin("PATCH", `${path}/${id}`, body);
const remove = (id: string) => server.admin("DELETE", `${path}/${id}`);
const profile = ({ token }: TestApplication) => server.get("/public/v1/users/maya", token);
const subscribed = (answer?: Answer) =>
  subscribedReceiver(server, [followed], { broadcaster: 7, ...(answer && { answer }) });
const failing = () => new Response(null, { status: 500 });
const event = eventOf(followed, { broadcaster_user_id: 7 });
/** Gives to how many subscriptions it goes. */
const publish = async () => {
  const { status, body } = await publishEvent(server, event);
  expect(status).toBe(202);
  return body["deliveries"];
};

test("a changed webhook URL holds for every delivery started after the answer, retries too", async () => {
  const { app, receiver: before } = await subscribed(failing);
  const after = ownReceiver();
  await publish();
  await before.arrived(1);
  await patch(app.id, { webhook_url: after.url });
  await publish();
  await after.arrived(1);
  clock.advance(hour);
  await publish();
  const arrived = await after.arrived(3);
  await nothingPending(server, app);
  expect(before.received).toHaveLength(1);
  expect(arrived.map(({ headers }) => headers["onair-sequence"]).sort()).toEqual(["1", "2", "3"]);
});

describe("disabling", () => {
  test("refuses tokens and the secret, delivers nothing, and can be undone", async () => {
    const { app, receiver: own } = await subscribed();
    expect((await profile(app)).status).toBe(200);
    await patch(app.id, { disabled: true });
    expect(await refusal(profile(app))).toEqual([401, "invalid_token"]);
    const ask = () => clientCredentials(server, app);
    expect((await ask()).status).toBe(401);
    await publish();
    await nothingPending(server, app);
    expect(own.received).toEqual([]);
    await patch(app.id, { disabled: false });
    expect((await profile(app)).status).toBe(200);
    expect((await ask()).status).toBe(200);
    await publish();
    expect(await own.arrived(1)).toHaveLength(1);
    await nothingPending(server, app);
    // What happened in between is not sent later.
    expect(own.received).toHaveLength(1);
  });

  test.each([{ disabled: true }, { webhook_url: null }])("%j cancels what is pending", async (change) => {
    const { app, receiver } = await subscribed(failing);
    await publish();
    await receiver.arrived(1);
    await patch(app.id, change);
    // Also of an attempt that is still being recorded no retry is left.
    await nothingPending(server, app);
    expect(await server.app.store.deliveries.pending()).not.toContainEqual(
      expect.objectContaining({ application_id: app.id }),
    );
  });
});

test("deleting removes tokens and subscriptions, and cancels pending deliveries", async () => {
  const { app, receiver } = await subscribed(failing);
  expect((await profile(app)).status).toBe(200);
  expect(await publish()).toBe(1);
  await receiver.arrived(1);
  expect((await remove(app.id)).status).toBe(204);
  expect((await profile(app)).status).toBe(401);
  expect(await server.app.store.subscriptions.ofApplication(app.id)).toEqual([]);
  expect(await server.app.store.tokens.ofApplication(app.id, clock.ms, 10)).toEqual([]);
  await nothingPending(server, app);
  expect(await server.app.store.deliveries.pending()).toEqual([]);
  expect(await publish()).toBe(0);
  expect((await remove(app.id)).status).toBe(404);
});
