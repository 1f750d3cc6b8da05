import { expect, test } from "bun:test";
import { testServer } from "../support/server.ts";

/*
 * A text with U+0000, which PostgreSQL cannot have: never an error of the server. On SQLite nothing is found by it.
 */

const server = await testServer({ args: ["--portal"] });
const { token } = await server.application();

test.each([
  "/public/v1/users/%00",
  "/public/v1/users/search?query=abc%00",
  "/public/v1/events/deliveries?subscription_id=%00",
  "/public/v1/events/deliveries/%00",
  "/public/v1/events/subscriptions/%00",
  "/public/v1/application/subscriptions?channel=%00",
  "/oauth/authorize?response_type=code&client_id=%00",
])("%s", async (path) => {
  const { status } = await server.get(path, path.startsWith("/oauth") ? undefined : token);
  expect([200, 400, 404]).toContain(status);
});

test("in what a browser brings, the error is one of OAuth", async () => {
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
