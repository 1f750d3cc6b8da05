import { expect, spyOn, test } from "bun:test";
import { refusal, testServer } from "../support/server.ts";

/*
 * The platform locks what an application changes about itself, between the look at what is locked and the change: as of
 * one that is misused, and that asks for the change all the time, at another replica, too.
 */

const server = await testServer();
const ours = "https://ours.example/hook";

test.each([
  ["webhook_url", "https://theirs.example/hook"],
  ["delivery", "both"],
  ["redirect_uris", ["https://theirs.example/callback"]],
])("%s is not changed after it was locked", async (field, theirs) => {
  const { id, token } = await server.application({ webhook_url: ours });
  const address = `/admin/v1/applications/${id}`;
  const { applications } = server.app.store;
  const update = applications.update.bind(applications);
  let locked: Promise<Response> | null = null;
  using _spy = spyOn(applications, "update").mockImplementation(async (...given) => {
    if (locked === null) {
      locked = server.admin("PATCH", address, { locked: [field] });
      expect((await locked).status).toBe(200);
    }
    return update(...given);
  });
  const asked = server.send("PATCH", "/public/v1/application", { [field]: theirs }, token);
  expect(await refusal(asked)).toEqual([403, "locked"]);
  const kept = { webhook_url: ours, delivery: "webhook", redirect_uris: [], locked: [field] };
  expect(await (await server.admin("GET", address)).json()).toMatchObject(kept);
  const changed = await server.admin("PATCH", address, { [field]: theirs });
  expect([changed.status, await changed.json()]).toMatchObject([200, { [field]: theirs }]);
});
