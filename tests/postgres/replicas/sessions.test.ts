import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { emptyDatabase, hasPostgres, type TestDatabase } from "../../support/postgres.ts";
import { type ServerProcess, serve } from "../../support/process.ts";
import { adminKey, json } from "../../support/server.ts";
import { until } from "../../support/until.ts";

setDefaultTimeout(180_000);

/*
 * Console sessions and wrong operator keys across two processes on one database.
 */

const page = { "onair-page": "http", "sec-fetch-site": "same-origin" };
let database: TestDatabase;
let one: ServerProcess;
let other: ServerProcess;

const session = ({ adminUrl }: ServerProcess, method: string, headers: Record<string, string>) =>
  fetch(`${adminUrl}/console/session`, { method, headers: { ...page, ...headers } });

/** Signs in and returns the cookie. */
async function signIn(server: ServerProcess, key = adminKey): Promise<string> {
  const answer = await session(server, "POST", { authorization: `Bearer ${key}` });
  expect(answer.status).toBe(200);
  return (answer.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
}

const statusAt = async (server: ServerProcess, cookie: string) =>
  (await session(server, "GET", { cookie })).status;

describe.skipIf(!hasPostgres)("across two replicas", () => {
  beforeAll(async () => {
    database = await emptyDatabase();
    const start = () => serve([], { env: { ONAIR_DATABASE: database.url } });
    one = await start();
    other = await start();
  });
  afterAll(async () => {
    await other?.end("SIGKILL");
    await one?.end("SIGKILL");
    await database?.drop();
  });

  test("a console session is valid at once on both and ends at once on both, with its streams", async () => {
    const cookie = await signIn(one);
    expect([await statusAt(one, cookie), await statusAt(other, cookie)]).toEqual([200, 200]);
    const stream = await fetch(`${one.adminUrl}/admin/v1/outcomes`, { headers: { ...page, cookie } });
    expect(stream.status).toBe(200);
    expect((await session(other, "DELETE", { cookie })).status).toBe(204);
    expect([await statusAt(one, cookie), await statusAt(other, cookie)]).toEqual([401, 401]);
    // Ends by itself.
    expect(await stream.text()).toStartWith("retry:");
  });

  test("a session ends on both when its key is revoked", async () => {
    const made = await one.admin("POST", "/admin/v1/keys", { name: "Ada", role: "reader" });
    const { id, key } = await json<{ id: string; key: string }>(made);
    // Even if the other replica has not been notified yet.
    const cookie = await signIn(other, key);
    expect((await one.admin("DELETE", `/admin/v1/keys/${id}`)).status).toBe(204);
    expect(await statusAt(one, cookie)).toBe(401);
    await until(async () => (await statusAt(other, cookie)) === 401);
  });

  test("wrong operator keys from an address are limited by both together", async () => {
    const wrong = async (server: ServerProcess) =>
      (await session(server, "POST", { authorization: "Bearer wrong-operator-key" })).status;
    const first = await Promise.all(Array.from({ length: 20 }, () => wrong(one)));
    // The other replica may have counted one attempt locally.
    expect(first.slice().sort().slice(0, 19)).toEqual(new Array(19).fill(401));
    let [admitted, status] = [0, await wrong(other)];
    // A single replica would accept twenty, and one more every three seconds.
    for (; status === 401 && ++admitted < 20; status = await wrong(other)) await Bun.sleep(1_000);
    expect(status).toBe(429);
    expect(admitted).toBeLessThan(20);
    expect(await statusAt(other, await signIn(other))).toBe(200);
  });
});
