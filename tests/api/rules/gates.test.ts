import { expect, test } from "bun:test";
import { AuditTrail } from "../../../src/api/admin/audit-trail.ts";
import { adminListener } from "../../../src/api/admin/listener.ts";
import { OperatorKeys } from "../../../src/api/admin/operator-keys.ts";
import { authenticator, rateLimiter } from "../../../src/api/http/access.ts";
import { Traffic } from "../../../src/api/http/context.ts";
import { answerOtherMethods, listen } from "../../../src/api/http/server.ts";
import { openApiRoutes } from "../../../src/api/openapi/routes.ts";
import { publicListener, withTokens } from "../../../src/api/public/listener.ts";
import { createLog } from "../../../src/runtime/log.ts";
import { afterThisTest } from "../../support/after-tests.ts";
import { testServer } from "../../support/server.ts";

const log = createLog("off");
const now = Date.now;
const server = await testServer();
const { store } = server.app;
const access = { authenticator: authenticator(store, now), limiter: rateLimiter(now), defaultRateLimit: 0 };

const trail = new AuditTrail({ store, log, now });
const traffic = { public: new Traffic(), admin: new Traffic() };
const adminApp = () =>
  adminListener({
    log,
    operatorKeys: new OperatorKeys({ store, now }),
    trail,
    traffic,
    limiter: access.limiter,
  });
const publicApp = () => withTokens(publicListener({ store, now, access, log }), access);

test("no listener serves a route that does not say who may call it", () => {
  const onAdmin = adminApp();
  onAdmin.get("/admin/v1/forgotten", () => "secret");
  expect(() => listen(onAdmin, { hostname: "127.0.0.1", port: 0 })).toThrow(
    "GET /admin/v1/forgotten has no gate",
  );
  const onPublic = publicApp();
  onPublic.get("/public/v1/forgotten", () => "secret");
  expect(() => listen(onPublic, { hostname: "127.0.0.1", port: 0 })).toThrow(
    "GET /public/v1/forgotten has no gate",
  );
});

test("a route added behind all others needs a gate, too", () => {
  const app = adminApp();
  answerOtherMethods(app);
  app.post("/admin/v1/late", () => "secret");
  expect(() => listen(app, { hostname: "127.0.0.1", port: 0 })).toThrow("POST /admin/v1/late has no gate");
});

test("a route that says who may call it is served, with its HEAD and OPTIONS", async () => {
  const app = adminApp();
  app.get("/admin/v1/known", () => "secret", { roles: ["operator"] });
  answerOtherMethods(app);
  const one = listen(app, { hostname: "127.0.0.1", port: 0 });
  afterThisTest(() => one.stop(0));
  const statuses = ["GET", "HEAD", "POST", "OPTIONS"].map(
    async (method) => (await fetch(`${one.url}/admin/v1/known`, { method })).status,
  );
  expect(await Promise.all(statuses)).toEqual([401, 401, 405, 204]);
});

test("a route that Elysia cannot compile answers 500 in the shape of all errors", async () => {
  const app = adminApp();
  const page = new Response("<html>");
  await page.text();
  app.get("/broken", page, { keyless: true });
  const one = listen(app, { hostname: "127.0.0.1", port: 0 });
  afterThisTest(() => one.stop(0));
  const answer = await fetch(`${one.url}/broken`);
  expect(answer.status).toBe(500);
  expect(answer.headers.get("content-type")).toBe("application/json");
  expect(await answer.json()).toMatchObject({ code: "internal_error", errors: [] });
});

test("no hook of the reference has Elysia parse cookies for every route", () => {
  const app = publicApp();
  const page = async () => new Response();
  openApiRoutes(app, { title: "", url: () => "", complete: async () => "", page });
  expect(app).toMatchObject({ inference: { cookie: false, body: false } });
});
