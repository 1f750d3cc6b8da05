import { expect, test } from "bun:test";
import { event, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { json, ownServer } from "../support/server.ts";
import { until } from "../support/until.ts";

/** A batch of events with as much text as they may have. */
function batch(number: number): string {
  const { data, ...rest } = event("kicks.gifted");
  const { gift, ...others } = data as { gift: object };
  const large = { ...others, gift: { ...gift, message: "x".repeat(2_000) } };
  const events = Array.from({ length: 200 }, (_, n) => ({ ...rest, id: `${number}.${n}`, data: large }));
  return events.map((one) => JSON.stringify(one)).join("\n");
}

test("with all of --max-data-size pending, publishing answers 503 and says what to do; everything else goes on", async () => {
  const server = await ownServer({ isOnSqlite: true, users, args: ["--max-data-size", "10MB"] });
  // Nothing listens there, so everything stays pending.
  const app = await server.application({ webhook_url: "http://127.0.0.1:9/" });
  const [subscription] = await subscribe(server, app, ["kicks.gifted"]);
  let published = 0;
  const publish = () => server.admin("POST", "/admin/v1/events", batch(published));
  let answer = await publish();
  for (; answer.status === 202; answer = await publish()) {
    if (++published > 100) throw new Error("there is no end to it");
  }
  expect(published).toBeGreaterThan(5);
  expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "5"]);
  expect(await json(answer)).toMatchObject({
    code: "unavailable",
    message: expect.stringMatching(
      /^The data has its largest size \(--max-data-size, 10 MB\).*Set a larger size/,
    ),
  });
  expect((await server.get("/public/v1/events/deliveries", app.token)).status).toBe(200);
  // What is canceled makes room.
  const path = `/public/v1/events/subscriptions?id=${subscription}`;
  expect((await server.get(path, app.token, { method: "DELETE" })).status).toBe(204);
  await until(async () => (await publish()).status === 202);
});
