import { describe, expect, test } from "bun:test";
import { readConfig } from "../../src/server/settings/read-config.ts";
import { all, named, watching } from "../support/event-stream.ts";
import { event, publish, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { testReceiver } from "../support/receiver.ts";
import { adminKey, json, refusal, type TestServer, testServer } from "../support/server.ts";
import { until } from "../support/until.ts";

async function platform() {
  const server = await testServer({ engineThread: true });
  await server.load("users", users);
  const receiver = testReceiver((_, number) => new Response("no", { status: number === 1 ? 500 : 204 }));
  const app = await server.application({ webhook_url: receiver.url });
  const other = await server.application({ webhook_url: receiver.url });
  await subscribe(server, app, ["channel.followed"]);
  await subscribe(server, other, ["kicks.gifted"]);
  return { server, app, other };
}

const operatorStream = async (server: TestServer, query = "") => {
  const answer = await server.admin("GET", `/admin/v1/outcomes${query}`);
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
  return watching(answer.body);
};

describe("a stream of outcomes", () => {
  test("shows an application its own outcomes, and operators those of all or of one", async () => {
    const { server, app, other } = await platform();
    const own = watching((await server.get("/public/v1/application/outcomes", app.token)).body);
    const everything = await operatorStream(server);
    const ofOther = await operatorStream(server, `?application_id=${other.id}`);
    await until(() => [own, everything, ofOther].every(({ text }) => text.startsWith("retry: 1000\n")));
    for (const name of ["channel.followed", "channel.followed", "kicks.gifted"]) {
      const before = all(everything).length;
      expect((await publish(server, event(name))).status).toBe(202);
      await until(() => all(everything).length === before + 1);
    }
    await until(() => all(own).length === 2 && all(ofOther).length === 1);
    expect(all(own)).toMatchObject([
      {
        application_id: app.id,
        type: "channel.followed",
        status: "pending",
        attempt: 1,
        outcome: "status",
        http_status: 500,
        error: "The answer was 500.",
      },
      {
        application_id: app.id,
        status: "delivered",
        attempt: 1,
        outcome: "ok",
        http_status: 204,
        error: null,
      },
    ]);
    expect(all(ofOther).map(({ application_id }) => application_id)).toEqual([other.id]);
    expect(all(everything)).toHaveLength(3);
    // What the receiver answered may hold anything, and is shown by the delivery alone.
    expect(own.text).not.toContain('"no"');
    const list = await json<{ data: { id: string }[] }>(
      await server.get("/public/v1/events/deliveries", app.token),
    );
    expect(
      all(own)
        .map(({ delivery_id }) => delivery_id)
        .sort(),
    ).toEqual(list.data.map(({ id }) => id).sort());
  });

  test("ends with the token or key that opened it", async () => {
    const { server, app } = await platform();
    const { key, id } = await json<{ key: string; id: string }>(
      await server.admin("POST", "/admin/v1/keys", { name: "watches", role: "reader" }),
    );
    const own = watching((await server.get("/public/v1/application/outcomes", app.token)).body);
    const answer = await server.admin("GET", "/admin/v1/outcomes", undefined, {
      authorization: `Bearer ${key}`,
    });
    const reading = watching(answer.body);
    const lasting = await operatorStream(server);
    await until(() => [own, reading, lasting].every(({ text }) => text !== ""));
    expect((await server.admin("DELETE", `/admin/v1/keys/${id}`)).status).toBe(204);
    expect((await server.admin("DELETE", `/admin/v1/applications/${app.id}/tokens`)).status).toBe(200);
    expect((await publish(server, event("channel.followed"))).status).toBe(202);
    await until(() => reading.isEnded && own.isEnded && all(lasting).length === 1);
    expect([all(reading), all(own), lasting.isEnded]).toEqual([[], [], false]);
  });

  test("takes a token of the application or an operator's key, and there may be ten of an application", async () => {
    const { server, app } = await platform();
    const path = "/public/v1/application/outcomes";
    expect((await server.get(path)).status).toBe(401);
    expect((await fetch(`${server.adminUrl}/admin/v1/outcomes`)).status).toBe(401);
    expect((await server.get("/admin/v1/outcomes", adminKey)).status).toBe(404);
    const open = async () => {
      const answer = await server.get(path, app.token);
      expect(answer.status).toBe(200);
      return watching(answer.body);
    };
    const first = await open();
    for (let i = 1; i < 10; i++) await open();
    const eleventh = await server.get(path, app.token);
    expect(await refusal(eleventh)).toEqual([429, "rate_limited"]);
    // They take no place of an operator who looks on at the same application.
    const looking = await server.admin("GET", `/admin/v1/outcomes?application_id=${app.id}`);
    expect(looking.status).toBe(200);
    watching(looking.body);
    await first.cancel();
    await until(async () => {
      const { status, body } = await server.get(path, app.token);
      await body?.cancel();
      return status === 200;
    });
  });
});

test("operators are notified of other changes, and an application of its own", async () => {
  const { server, app, other } = await platform();
  const own = watching((await server.get("/public/v1/application/outcomes", app.token)).body);
  const others = watching((await server.get("/public/v1/application/outcomes", other.token)).body);
  const everything = await operatorStream(server);
  const ofOther = await operatorStream(server, `?application_id=${other.id}`);
  const streams = [own, others, everything, ofOther];
  await until(() => streams.every(({ text }) => text !== ""));
  const page = { authorization: `Bearer ${adminKey}`, "onair-page": "http", "sec-fetch-site": "same-origin" };
  await fetch(`${server.adminUrl}/console/session`, { method: "POST", headers: page });
  await until(() => named(everything).has("audit"));
  await server.admin("PATCH", `/admin/v1/applications/${app.id}`, { rate_limit: 7 });
  await until(() => [own, everything].every((one) => named(one).has("applications")));
  await subscribe(server, app, ["chat.message.sent"]);
  await until(() => [own, everything].every((one) => named(one).has("subscriptions")));
  await server.load("categories", [{ id: 9, name: "Chess", slug: "chess" }]);
  await until(() => named(everything).has("ranking"));
  expect(named(everything).has("")).toBe(false);
  const ofApplications = ["applications", "subscriptions"];
  expect(ofApplications.filter((topic) => named(others).has(topic) || named(ofOther).has(topic))).toEqual([]);
  expect(["audit", "ranking"].filter((topic) => named(own).has(topic) || named(others).has(topic))).toEqual(
    [],
  );
});

test("operators are notified of reloaded settings, and everybody of event types", async () => {
  const { server, app } = await platform();
  const own = watching((await server.get("/public/v1/application/outcomes", app.token)).body);
  const everything = await operatorStream(server);
  await until(() => [own, everything].every(({ text }) => text !== ""));
  server.app.reload(readConfig(["--rate-limit=77"], {}));
  await until(() => named(everything).has("settings"));
  expect(named(everything).has("event-types")).toBe(false);
  const type = { version: 1, schema: { type: "object" }, example: {} };
  expect((await server.admin("PUT", "/admin/v1/event-types/raffle.won", type)).ok).toBe(true);
  await until(() => [own, everything].every((one) => named(one).has("event-types")));
  expect(named(own).has("settings")).toBe(false);
});
