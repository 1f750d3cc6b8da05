import { expect, spyOn, test } from "bun:test";
import { testServer } from "../support/server.ts";

/*
 * The secret of an application is rotated, and all of its tokens are ended, between the check of the secret and the
 * token that is made for it: as of one that was stolen, with which tokens are asked for all the time.
 */

const server = await testServer({ args: ["--portal"] });
const page = { "onair-page": "http", "sec-fetch-site": "same-origin" };

test.each([
  ["a token of its own", "/oauth/token", { grant_type: "client_credentials" }],
  ["a session of the portal", "/portal/session", {}],
])("%s is not given for a secret that ends meanwhile", async (_, path, fields) => {
  const { id, client_id, client_secret } = await server.application();
  const own = `/admin/v1/applications/${id}`;
  const { applications } = server.app.store;
  const checked = applications.clientSecretHashes.bind(applications);
  let rotated: Promise<Response[]> | null = null;
  using _spy = spyOn(applications, "clientSecretHashes").mockImplementation(async (...given) => {
    const hashes = await checked(...given);
    rotated ??= (async () => [
      await server.admin("POST", `${own}/client-secret`, { overlap_seconds: 0 }),
      await server.admin("DELETE", `${own}/tokens`),
    ])();
    expect((await rotated).map(({ ok }) => ok)).toEqual([true, true]);
    return hashes;
  });
  const body = new URLSearchParams({ ...fields, client_id, client_secret });
  const answer = await fetch(server.publicUrl + path, { method: "POST", headers: page, body });
  expect([answer.status, await answer.json()]).toMatchObject([401, { code: "invalid_client" }]);
  expect(await server.app.store.tokens.ofApplication(id, 0, 10)).toEqual([]);
});
