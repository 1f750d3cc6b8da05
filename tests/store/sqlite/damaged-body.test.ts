import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { keptLog } from "../../support/log.ts";
import { event, publish, subscribe } from "../../support/publishing.ts";
import { ownReceiver } from "../../support/receiver.ts";
import { json, ownDirectory, ownServer } from "../../support/server.ts";
import { until } from "../../support/until.ts";

interface Shown {
  readonly id: string;
  readonly status: string;
  readonly attempts: readonly { outcome: string; status: number | null; error: string | null }[];
}

test("a delivery whose body is damaged fails with the reason, and all others are sent", async () => {
  const data = ownDirectory();
  const receiver = ownReceiver();
  // Held deliveries are claimed from the database after the release.
  const held = await ownServer({ isOnSqlite: true, data, args: ["--hold-deliveries"] });
  await held.load("users", [{ id: 1001, username: "maya" }]);
  const app = await held.application({ webhook_url: receiver.url });
  await subscribe(held, app, ["channel.followed"]);
  for (const id of ["one", "damaged", "three"])
    expect((await publish(held, event("channel.followed", { id }))).status).toBe(202);
  await held.stop();
  const db = new Database(join(data, "onair.db"));
  expect(db.run("UPDATE events SET body = x'0102030405' WHERE id = 'damaged'").changes).toBe(1);
  db.close(true);

  const { log, lines } = keptLog("error");
  const server = await ownServer({ isOnSqlite: true, data, log });
  expect((await server.admin("DELETE", "/admin/v1/deliveries/hold")).status).toBe(204);
  expect((await publish(server, event("channel.followed", { id: "four" }))).status).toBe(202);
  const ids = async () => (await receiver.arrived(3)).map(({ headers }) => headers["onair-event-id"]).sort();
  expect(await ids()).toEqual(["four", "one", "three"]);

  const failed = async () => {
    const path = "/public/v1/events/deliveries?status=failed";
    const { data } = await json<{ data: Shown[] }>(await server.get(path, app.token));
    return data;
  };
  await until(async () => (await failed()).length === 1);
  const [delivery] = await failed();
  const error = "The body of this event is damaged in the platform's database: it has to be published again.";
  expect(delivery?.attempts).toMatchObject([{ outcome: "internal", status: null, error }]);
  const told = (await lines()).join("");
  expect(told).toContain('"event_body_damaged"');
  expect(told).toContain('"event_id":"damaged"');
  expect((await fetch(`${server.adminUrl}/readyz`)).status).toBe(200);

  // Asked for once more, it fails once more, and holds up nothing.
  const retry = `/public/v1/events/deliveries/${delivery?.id}/retry`;
  expect((await server.post(retry, undefined, app.token)).status).toBe(202);
  await until(async () => (await failed())[0]?.attempts.length === 2);
  expect((await publish(server, event("channel.followed", { id: "five" }))).status).toBe(202);
  expect((await receiver.arrived(4)).length).toBe(4);
});
