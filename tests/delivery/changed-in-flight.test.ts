import { beforeEach, describe, expect, test } from "bun:test";
import { minute } from "../../src/domain/time.ts";
import { subscriptionsPath } from "../support/publishing.ts";
import type { Receiver } from "../support/receiver.ts";
import type { TestApplication } from "../support/server.ts";
import { type OwnEndpoint, ownEndpoint } from "./fixtures/own-endpoint.ts";

/*
 * A subscription or its application is removed while an attempt waits for its answer.
 */

let endpoint: OwnEndpoint;
/** The status of every answer, once it is known. */
let held: PromiseWithResolvers<number>;
let receiver: Receiver;
let app: TestApplication;
let subscription: string;
beforeEach(async () => {
  endpoint = await ownEndpoint();
  held = Promise.withResolvers();
  ({ app, receiver, subscription } = await endpoint.subscribed(
    async () => new Response(null, { status: await held.promise }),
  ));
});

const removals: Readonly<Record<string, () => Promise<Response>>> = {
  subscription: () =>
    endpoint.server.get(`${subscriptionsPath}?id=${subscription}`, app.token, { method: "DELETE" }),
  application: () => endpoint.server.admin("DELETE", `/admin/v1/applications/${app.id}`),
};

test("deliveries that wait while their subscription is removed are not sent", async () => {
  await endpoint.publishMany(50);
  await receiver.arrived(8);
  expect((await removals["subscription"]?.())?.status).toBe(204);
  held.resolve(204);
  await endpoint.settled();
  expect(receiver.received.length).toBe(8);
});

describe("while an attempt is under way", () => {
  beforeEach(async () => {
    await endpoint.publish();
    await receiver.arrived(1);
  });

  test.each([
    ["subscription", 500],
    ["application", 204],
  ])("its %s is removed, and it ends with %d: nothing more is sent", async (removed, status) => {
    expect((await removals[removed]?.())?.status).toBe(204);
    held.resolve(status);
    await endpoint.settled();
    await endpoint.pass(minute);
    expect(receiver.received.length).toBe(1);
    expect(await endpoint.pending(app.id)).toEqual([]);
  });
});
