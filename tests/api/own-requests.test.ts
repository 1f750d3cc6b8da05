import { expect, test } from "bun:test";
import { hour } from "../../src/domain/time.ts";
import { users } from "../support/real-data.ts";
import { Clock, json, ownDirectory, ownServer, type TestServer } from "../support/server.ts";

// What an application asked of late: counts by operation and status, and the last refused requests.

const path = "/public/v1/application/requests";

interface Requests {
  total: number;
  refused_total: number;
  rate_limited: number;
  operations: { operation: string; status: number; count: number }[];
  refused: { at: string; operation: string | null; status: number; code: string; request_id: string }[];
}
const read = async (server: TestServer, token: string) =>
  (await json<{ data: Requests }>(await server.get(path, token))).data;

test("counts by operation and status, and says which requests were refused and why, only the caller's own", async () => {
  const server = await ownServer({ users });
  const [app, other] = [await server.application(), await server.application()];
  for (let i = 0; i < 3; i++) await server.get("/public/v1/users/xqcow", app.token);
  const refused = [
    await server.get("/public/v1/users/nobody_here", app.token),
    await server.get("/public/v1/users/search?query=x", app.token),
    await server.get("/public/v1/unknown", app.token),
  ];
  await server.get("/public/v1/users/xqcow", other.token);
  const found = await read(server, app.token);
  expect(found).toMatchObject({ total: 6, refused_total: 3, rate_limited: 0 });
  expect(found.operations).toEqual([
    { operation: "getUser", status: 200, count: 3 },
    { operation: "getUser", status: 404, count: 1 },
    { operation: "searchUsers", status: 400, count: 1 },
    { operation: "other", status: 404, count: 1 },
  ]);
  const codes = ["user_not_found", "invalid_parameter", "not_found"];
  const ids = refused.map(({ headers }) => headers.get("x-request-id") ?? "");
  expect(found.refused.map(({ code }) => code)).toEqual(codes.toReversed());
  expect(found.refused.map(({ request_id }) => request_id)).toEqual(ids.toReversed());
  expect(found.refused[0]?.operation).toBeNull();
  expect((await read(server, other.token)).total).toBe(1);
});

test("tells of requests beyond the rate limit", async () => {
  const server = await ownServer({ users });
  const app = await server.application({ rate_limit: 4 });
  const statuses: number[] = [];
  for (let i = 0; i < 6; i++) statuses.push((await server.get("/public/v1/users/xqcow", app.token)).status);
  expect(statuses.filter((status) => status === 429).length).toBe(2);
  await server.admin("PATCH", `/admin/v1/applications/${app.id}`, { rate_limit: 0 });
  expect(await read(server, app.token)).toMatchObject({ total: 6, rate_limited: 2 });
  expect((await read(server, app.token)).refused[0]).toMatchObject({ status: 429, code: "rate_limited" });
});

test("survives a restart, and forgets after a day", async () => {
  const [data, clock] = [ownDirectory(), new Clock()];
  const first = await ownServer({ data, clock, users });
  const app = await first.application();
  await first.get("/public/v1/users/nobody_here", app.token);
  await first.stop();
  const second = await ownServer({ data, clock });
  await second.get("/public/v1/users/xqcow", app.token);
  const found = await read(second, app.token);
  expect(found).toMatchObject({ total: 2, refused_total: 1 });
  expect(found.refused).toHaveLength(1);
  clock.advance(25 * hour);
  expect(await read(second, app.token)).toMatchObject({ total: 0, operations: [], refused: [] });
});
