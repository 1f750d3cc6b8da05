import { expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { rotationLimits } from "../../src/domain/applications.ts";
import { hour } from "../../src/domain/time.ts";
import { secretHash } from "../../src/domain/tokens.ts";
import { event, nothingPending, publish, subscribedReceiver } from "../support/publishing.ts";
import type { Receiver } from "../support/receiver.ts";
import { Clock, json, type TestApplication, testServer } from "../support/server.ts";

// An operator rotates the secrets of an application.

const clock = new Clock();
const path = "/admin/v1/applications";
const server = await testServer({ clock, users: [{ id: 7, username: "maya" }] });
const subscribed = () => subscribedReceiver(server, ["channel.followed"], { broadcaster: 7 });

interface Rotated {
  readonly client_secret: string;
  readonly webhook_secret: string;
  readonly overlap_until: string | null;
}
const rotate = async (id: string, kind: "client-secret" | "webhook-secret", body: object = {}) => {
  const answer = await server.admin("POST", `${path}/${id}/${kind}`, body);
  expect(answer.status).toBe(200);
  return json<Rotated>(answer);
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

test("both webhook secrets sign while the overlap lasts, the default of a day", async () => {
  const { app, receiver: own } = await subscribed();
  const first = app.webhook_secret;
  const { webhook_secret: second, overlap_until } = await rotate(app.id, "webhook-secret");
  expect(second).toMatch(/^whsec_/);
  expect(overlap_until).toBe(new Date(clock.ms + 24 * hour).toISOString());
  expect(await verifying(app, own, [first, second])).toEqual([first, second]);
  clock.advance(24 * hour - 1);
  expect(await verifying(app, own, [first, second])).toEqual([first, second]);
  clock.advance(1);
  expect(await verifying(app, own, [first, second])).toEqual([second]);
});

test("no overlap ends every older secret at once", async () => {
  const { app, receiver: own } = await subscribed();
  const { webhook_secret: second } = await rotate(app.id, "webhook-secret", { overlap_seconds: 3600 });
  const { webhook_secret: third, overlap_until } = await rotate(app.id, "webhook-secret", {
    overlap_seconds: 0,
  });
  expect(overlap_until).toBeNull();
  expect(await verifying(app, own, [app.webhook_secret, second, third])).toEqual([third]);
});

test("the hashes of both client secrets are good while the overlap lasts", async () => {
  const app = await server.application();
  const { client_secret: second } = await rotate(app.id, "client-secret", { overlap_seconds: 60 });
  const good = async () => {
    const hashes = await server.app.store.applications.clientSecretHashes(app.id, clock.ms);
    return [app.client_secret, second].filter((secret) =>
      hashes.some((hash) => secretHash(secret).equals(hash)),
    );
  };
  expect(await good()).toEqual([app.client_secret, second]);
  clock.advance(59_999);
  expect(await good()).toEqual([app.client_secret, second]);
  clock.advance(1);
  expect(await good()).toEqual([second]);
  await server.admin("PATCH", `${path}/${app.id}`, { disabled: true });
  expect(await good()).toEqual([]);
});

test("too many secrets that are good at once are refused with the reason", async () => {
  const app = await server.application();
  for (let i = 0; i < rotationLimits.maxRetired; i++) await rotate(app.id, "webhook-secret");
  const answer = await server.admin("POST", `${path}/${app.id}/webhook-secret`, {});
  expect([answer.status, await json<object>(answer)]).toMatchObject([
    409,
    {
      code: "conflict",
      message: expect.stringContaining("5 earlier secrets would be valid at once, but at most 4 may be"),
    },
  ]);
  await rotate(app.id, "webhook-secret", { overlap_seconds: 0 });
  await rotate(app.id, "webhook-secret");
});

test.each([{ overlap_seconds: -1 }, { overlap_seconds: "1" }, { overlap_seconds: 30 * 86_400 + 1 }])(
  "an overlap of %j is refused",
  async (body) => {
    const { id } = await server.application();
    expect((await server.admin("POST", `${path}/${id}/client-secret`, body)).status).toBe(400);
  },
);
