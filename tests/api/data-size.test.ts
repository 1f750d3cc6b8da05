import { expect, test } from "bun:test";
import { event, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { ndjson } from "../support/rows.ts";
import { json, ownServer } from "../support/server.ts";
import { until } from "../support/until.ts";

/** A batch of events with as much text as they may have. */
function batch(number: number): string {
  const { data, ...rest } = event("kicks.gifted");
  const { gift, ...others } = data as { gift: object };
  const large = { ...others, gift: { ...gift, message: "x".repeat(2_000) } };
  const events = Array.from({ length: 200 }, (_, n) => ({ ...rest, id: `${number}.${n}`, data: large }));
  return ndjson(events);
}

test("with all of --max-data-size pending, publishing answers 503 with advice; all else works", async () => {
  const server = await ownServer({ isOnSqlite: true, users, args: ["--max-data-size", "10MB"] });
  // Nothing listens there, so everything stays pending.
  const app = await server.application({ webhook_url: "http://127.0.0.1:9/" });
  const [subscription] = await subscribe(server, app, ["kicks.gifted"]);
  let published = 0;
  const events = "/admin/v1/events";
  const single = event("kicks.gifted", { id: "single" });
  const keyed = () => server.admin("POST", events, event("kicks.gifted"), { "idempotency-key": "k" });
  const firstAnswers = [await server.admin("POST", events, single), await keyed()];
  const publish = (number = published) => server.admin("POST", events, batch(number));
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
  // What is known already is answered as before: it takes no space.
  const again = [await server.admin("POST", events, single), await keyed(), await publish(0)];
  expect(again.map(({ status }) => status)).toEqual([202, 202, 202]);
  for (const [i, first] of firstAnswers.entries()) expect(await again[i]?.json()).toEqual(await first.json());
  expect((await server.admin("POST", `${events}?atomic=true`, batch(0))).status).toBe(202);
  const mixed = `${JSON.stringify(single)}\n${batch(published)}`;
  expect((await server.admin("POST", `${events}?atomic=true`, mixed)).status).toBe(503);
  const other = { ...single, broadcaster_user_id: users[1]?.id };
  expect((await server.admin("POST", events, other)).status).toBe(409);
  expect((await server.get("/public/v1/events/deliveries", app.token)).status).toBe(200);
  // What is canceled frees space.
  const path = `/public/v1/events/subscriptions?id=${subscription}`;
  expect((await server.get(path, app.token, { method: "DELETE" })).status).toBe(204);
  await until(async () => (await publish()).status === 202);
});
