import { describe, expect, test } from "bun:test";
import { afterThisTest } from "../support/after-tests.ts";
import { metricsText, samplesOf } from "../support/metrics.ts";
import { startPostgres } from "../support/postgres-server.ts";
import { isOnPostgres, ownServer } from "../support/server.ts";
import { until } from "../support/until.ts";

describe.skipIf(!isOnPostgres)("a database that goes away and comes back", () => {
  test("is 503 with Retry-After meanwhile, and the server goes on by itself", async () => {
    const postgres = await startPostgres();
    afterThisTest(postgres.stop);
    const env = { ONAIR_DATA: undefined, ONAIR_DATABASE: postgres.url("postgres") };
    const server = await ownServer({ engineThread: true, env });
    await server.load("users", [{ id: 1, username: "ada" }]);
    const { token } = await server.application();
    const find = (name: string) => server.get(`/public/v1/users/${name}`, token);
    const ready = async () => (await server.admin("GET", "/readyz")).status;
    expect([(await find("ada")).status, await ready()]).toEqual([200, 200]);

    postgres.kill("SIGQUIT");
    await until(async () => (await find("nobody")).status === 503);
    const away = await find("nobody");
    expect([away.status, away.headers.get("retry-after")]).toEqual([503, "5"]);
    expect(await away.json()).toMatchObject({ code: "unavailable" });
    // What is in memory is still answered, whatever the token that it does not need.
    for (const given of [token, "onair_at_unknown", undefined])
      expect((await server.get("/public/v1/categories", given)).status).toBe(200);
    const write = await server.admin("POST", "/admin/v1/applications", { name: "Bot" });
    expect(write.status).toBe(503);
    await until(async () => (await ready()) === 503);
    // What only the database knows is left out; all else is still told.
    const samples = samplesOf(await metricsText(server));
    expect(samples.get("onair_ready")).toBe(0);
    expect(samples.has('onair_events_published_total{type="kicks.gifted"}')).toBe(true);
    expect(samples.has("onair_deliveries_pending")).toBe(false);
    expect(samples.has("onair_database_bytes")).toBe(false);

    await postgres.start();
    await until(async () => (await find("nobody")).status === 404);
    await until(async () => (await ready()) === 200);
    expect((await server.admin("POST", "/admin/v1/applications", { name: "Bot" })).status).toBe(201);
  });
});
