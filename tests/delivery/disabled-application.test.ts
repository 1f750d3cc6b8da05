import { expect, test } from "bun:test";
import { event, publish, settled, subscribedReceiver } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { json, testServer } from "../support/server.ts";

const server = await testServer({ users });

test("what is published for a disabled application whose endpoint is disabled, too, is canceled", async () => {
  const answer = () => new Response(null, { status: 410 });
  const { app } = await subscribedReceiver(server, ["channel.followed"], { answer });
  await publish(server, event("channel.followed"));
  await settled(server);
  await server.admin("PATCH", `/admin/v1/applications/${app.id}`, { disabled: true });
  await publish(server, event("channel.followed"));
  const statuses = async () => {
    const list = await server.admin("GET", `/admin/v1/deliveries?application_id=${app.id}`);
    return (await json<{ data: { status: string }[] }>(list)).data.map(({ status }) => status);
  };
  await settled(server);
  expect(await statuses()).toEqual(["canceled", "failed"]);
});
