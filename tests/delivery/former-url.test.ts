import { beforeEach, describe, expect, test } from "bun:test";
import { afterThisTest } from "../support/after-tests.ts";
import { event, publish, settled, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { ownReceiver, type Receiver } from "../support/receiver.ts";
import {
  Clock,
  json,
  ownDirectory,
  ownServer,
  type TestApplication,
  type TestServer,
} from "../support/server.ts";
import { until } from "../support/until.ts";

/*
 * An outcome counts for the URL that was called. Outcomes of attempts before a change by a person do not undo it.
 */

const clock = new Clock();
let data: string;
let server: TestServer;
let former: Receiver;
let present: Receiver;
let app: TestApplication;
let subscription: string;
/** Status of the answers of the former URL. */
let held: PromiseWithResolvers<number>;

beforeEach(async () => {
  held = Promise.withResolvers();
  former = ownReceiver(async () => new Response(null, { status: await held.promise }));
  present = ownReceiver();
  data = ownDirectory();
  server = await ownServer({ clock, data, users });
  afterThisTest(() => held.resolve(204));
  app = await server.application({ webhook_url: former.url });
  [subscription = ""] = await subscribe(server, app, ["kicks.gifted"]);
});

const kick = (id: string) => publish(server, event("kicks.gifted", { id }));
const move = () => server.admin("PATCH", `/admin/v1/applications/${app.id}`, { webhook_url: present.url });
const enable = () => server.admin("POST", `/admin/v1/applications/${app.id}/endpoint/enable`);
const eventsAt = ({ received }: Receiver) => received.map(({ headers }) => headers["onair-event-id"]);
const attemptsAt = ({ received }: Receiver) => received.map(({ headers }) => headers["onair-attempt"]);
interface Delivery {
  status: string;
  attempts: { status: number }[];
}
const deliveries = async () =>
  (await json<{ data: Delivery[] }>(await server.get("/public/v1/events/deliveries", app.token))).data;
const status = async () => {
  const answer = await server.get(`/public/v1/events/subscriptions/${subscription}`, app.token);
  return (await json<{ data: { status: string } }>(answer)).data.status;
};

describe("while the former URL holds a request", () => {
  beforeEach(async () => {
    await kick("held");
    await former.arrived(1);
    expect((await move()).status).toBe(200);
  });

  test("the new URL gets new events at once", async () => {
    await kick("new");
    await present.arrived(1);
    expect(eventsAt(present)).toEqual(["new"]);
    expect(former.received.length).toBe(1);
  });

  test.each([410, 503])("its late %d does not count: the new one gets the delivery, too", async (late) => {
    held.resolve(late);
    await present.arrived(1);
    await settled(server);
    expect([eventsAt(present), attemptsAt(present)]).toEqual([["held"], ["2"]]);
    expect(await status()).toBe("enabled");
    const [delivery] = await deliveries();
    expect(delivery).toMatchObject({ status: "delivered", attempts: [{ status: late }, { status: 204 }] });
    await kick("new");
    await present.arrived(2);
  });

  test("its late success is one", async () => {
    held.resolve(204);
    await settled(server);
    expect((await deliveries())[0]).toMatchObject({ status: "delivered" });
    await kick("new");
    await present.arrived(1);
    expect(eventsAt(present)).toEqual(["new"]);
  });
});

test("late failures of a former URL open no circuit of the new one", async () => {
  for (let n = 0; n < 8; n++) await kick(`held-${n}`);
  await former.arrived(8);
  await move();
  held.resolve(500);
  await present.arrived(8);
  for (let n = 0; n < 8; n++) await kick(`new-${n}`);
  await present.arrived(16);
  await settled(server);
  expect((await deliveries()).filter((one) => one.status !== "delivered")).toEqual([]);
});

test("an attempt that began before the endpoint was enabled does not disable it", async () => {
  await kick("held");
  await former.arrived(1);
  expect((await enable()).status).toBe(200);
  held.resolve(410);
  // It is sent once more, and the answer to that does count.
  await former.arrived(2);
  await settled(server);
  expect(await status()).toBe("disabled");
  expect(attemptsAt(former)).toEqual(["1", "2"]);
});

test.each(["by hand", "by another URL"])(
  "a 410 that is not recorded yet does not disable an endpoint that is enabled %s, nor after a restart",
  async (how) => {
    await kick("held");
    await former.arrived(1);
    held.resolve(410);
    await until(async () => (await server.app.engine.stats()).inFlight === 0);
    if (how === "by hand") await server.app.engine.enable(app.id);
    else await server.app.store.applications.update(app.id, { webhook_url: present.url }, clock.ms);
    await settled(server);
    expect(await status()).toBe("enabled");
    await server.stop();
    server = await ownServer({ clock, data });
    expect(await server.app.store.endpoints.failing()).toEqual([]);
    await move();
    await kick("after");
    await present.arrived(1);
  },
);

test("the same URL once more is no change", async () => {
  held.resolve(410);
  await kick("gone");
  await settled(server);
  expect(await status()).toBe("disabled");
  await server.admin("PATCH", `/admin/v1/applications/${app.id}`, { webhook_url: former.url });
  expect(await status()).toBe("disabled");
  expect((await enable()).status).toBe(200);
  expect(await status()).toBe("enabled");
});

test("the last answer of the former URL is not shown for the new one; it is for the same URL after it was enabled", async () => {
  held.resolve(204);
  const shown = async () => {
    const answer = await server.get("/public/v1/application", app.token);
    return (await json<{ data: { endpoint: object } }>(answer)).data.endpoint;
  };
  await kick("arrived");
  await settled(server);
  const known = { last_success_at: new Date(clock.ms).toISOString(), advice: null };
  expect(await shown()).toMatchObject(known);
  await enable();
  expect(await shown()).toMatchObject(known);
  await move();
  expect(await shown()).toMatchObject({
    status: "enabled",
    last_success_at: null,
    last_failure: null,
    summary: "Nothing was sent to the endpoint yet.",
  });
});
