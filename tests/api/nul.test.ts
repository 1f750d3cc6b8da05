import { expect, test } from "bun:test";
import { testServer } from "../support/server.ts";

/*
 * A text with U+0000, which PostgreSQL cannot have: on both databases the same error, which names the parameter.
 */

const server = await testServer({ args: ["--portal"] });
const { token } = await server.application();

test.each([
  ["GET", "users/%00", "username"],
  ["GET", "users/search?query=abc%00", "query"],
  ["GET", "categories?name=%00", "name"],
  ["GET", "events/deliveries?subscription_id=%00", "subscription_id"],
  ["GET", "events/deliveries?type=%00", "type"],
  ["GET", "events/deliveries/%00", "id"],
  ["POST", "events/deliveries/%00/retry", "id"],
  ["GET", "events/replays/%00", "id"],
  ["DELETE", "events/replays/%00", "id"],
  ["GET", "events/subscriptions/%00", "id"],
  ["DELETE", "events/subscriptions?id=%00&id=a", "id"],
  ["GET", "application/subscriptions?channel=%00", "channel"],
])("%s /public/v1/%s", async (method, path, field) => {
  const answer = await server.send(method, `/public/v1/${path}`, undefined, token);
  expect(await answer.json()).toMatchObject({ code: "invalid_parameter", errors: [{ field }] });
});

test("in a body", async () => {
  const range = { from: "2026-01-14T16:00:00Z", to: "2026-01-14T17:00:00Z" };
  const answer = await server.post("/public/v1/events/replays", { ...range, subscription_id: "\0" }, token);
  expect(await answer.json()).toMatchObject({
    code: "invalid_parameter",
    errors: [{ in: "body", field: "subscription_id" }],
  });
});

test("in a request of a browser, the error is one of OAuth", async () => {
  const answer = await server.get("/oauth/authorize?response_type=code&client_id=%00");
  expect(await answer.json()).toMatchObject({ error: "invalid_request", code: "invalid_request" });
});

test("in a client id", async () => {
  const body = new URLSearchParams({ grant_type: "client_credentials", client_id: "\0", client_secret: "x" });
  const answer = await server.get("/oauth/token", undefined, { method: "POST", body });
  expect([400, 401]).toContain(answer.status);
  expect(await answer.json()).toHaveProperty("error", expect.stringMatching(/^invalid_(client|request)$/));
});

test("in a filter of the admin API", async () => {
  for (const path of ["audit?key=%00", "subscriptions?channel=%00"])
    expect([200, 400]).toContain((await server.admin("GET", `/admin/v1/${path}`)).status);
});
