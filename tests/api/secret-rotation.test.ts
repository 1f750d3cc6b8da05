import { expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { hour } from "../../src/domain/time.ts";
import { event, nothingPending, publish, subscribedReceiver } from "../support/publishing.ts";
import type { Receiver } from "../support/receiver.ts";
import { Clock, json, type TestApplication, testServer } from "../support/server.ts";

// An operator rotates the webhook secret of an application.

const clock = new Clock();
const server = await testServer({ clock, users: [{ id: 7, username: "maya" }] });

const rotate = async (id: string, body: object = {}) => {
  const answer = await server.admin("POST", `/admin/v1/applications/${id}/webhook-secret`, body);
  expect(answer.status).toBe(200);
  return json<{ webhook_secret: string; overlap_until: string | null }>(answer);
};
/** Which of these secrets verify what was delivered last. */
const verifying = async (app: TestApplication, own: Receiver, secrets: readonly string[]) => {
  const before = own.received.length;
  await publish(server, event("channel.followed", { broadcaster_user_id: 7 }));
  const received = await own.arrived(before + 1);
  await nothingPending(server, app);
  const last = received.at(-1);
  // The library compares with the real time, so it is told the time of the test by the headers alone.
  const timestamp = last?.headers["webhook-timestamp"] ?? "";
  const signature = last?.headers["webhook-signature"] ?? "";
  return secrets.filter((secret) => {
    const signed = new Webhook(secret).sign(
      last?.headers["webhook-id"] ?? "",
      new Date(Number(timestamp) * 1000),
      last?.body ?? "",
    );
    return signature.split(" ").includes(signed);
  });
};

test("both webhook secrets sign while the overlap lasts, the default of a day; no overlap ends every older one at once", async () => {
  const { app, receiver: own } = await subscribedReceiver(server, ["channel.followed"], { broadcaster: 7 });
  const first = app.webhook_secret;
  const { webhook_secret: second, overlap_until } = await rotate(app.id);
  expect(second).toMatch(/^whsec_/);
  expect(overlap_until).toBe(new Date(clock.ms + 24 * hour).toISOString());
  expect(await verifying(app, own, [first, second])).toEqual([first, second]);
  clock.advance(24 * hour - 1);
  expect(await verifying(app, own, [first, second])).toEqual([first, second]);
  clock.advance(1);
  expect(await verifying(app, own, [first, second])).toEqual([second]);
  const { webhook_secret: third } = await rotate(app.id, { overlap_seconds: 3600 });
  const { webhook_secret: fourth, overlap_until: none } = await rotate(app.id, { overlap_seconds: 0 });
  expect(none).toBeNull();
  expect(await verifying(app, own, [second, third, fourth])).toEqual([fourth]);
});
