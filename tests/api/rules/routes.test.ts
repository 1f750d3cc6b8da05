import { describe, expect, test } from "bun:test";
import type { AnyElysia } from "elysia";
import { adminListener } from "../../../src/api/admin/listener.ts";
import { adminRoutes } from "../../../src/api/admin.ts";
import { Traffic } from "../../../src/api/http/context.ts";
import { whoMay } from "../../../src/api/http/input.ts";
import { type PublicDeps, publicListener, withTokens } from "../../../src/api/public/listener.ts";
import { openRoutes, tokenRoutes } from "../../../src/api/public.ts";
import { createLog } from "../../../src/runtime/log.ts";
import { documentOf, operations } from "../../support/openapi.ts";
import { testServer } from "../../support/server.ts";

/*
 * The tables of routes in `api/public.ts`, `api/oauth.ts` and `api/admin.ts` say what the routes themselves declare.
 */

/** Any dependency: only requests use it. */
const absent: never = new Proxy(() => absent, { get: () => absent }) as never;
const log = createLog("off");

const publicDeps: PublicDeps = {
  store: absent,
  engine: absent,
  access: absent,
  catalogue: absent,
  ranking: absent,
  cursors: absent,
  challenges: absent,
  streams: absent,
  outcomes: absent,
  requests: absent,
  log,
  now: absent,
  publicUrl: absent,
  publicKey: absent,
  defaultSubscriptionLimit: absent,
  allowPrivateWebhooks: false,
  loginUrl: null,
  portal: { title: "Portal" },
  portalLogin: "application",
  welcome: absent,
};

const adminDeps = new Proxy({ traffic: { public: new Traffic(), admin: new Traffic() }, log } as never, {
  get: (given: Record<string, unknown>, name: string) => given[name] ?? absent,
}) as never;

const listeners = {
  open: () => publicListener(publicDeps) as AnyElysia,
  token: () => withTokens(publicListener(publicDeps), publicDeps.access) as unknown as AnyElysia,
  admin: () =>
    adminListener({
      traffic: { public: new Traffic(), admin: new Traffic() },
      log,
      operatorKeys: absent,
      limiter: absent,
      trail: absent,
    }) as unknown as AnyElysia,
};

type Row = readonly [path: string, who: Readonly<Record<string, unknown>>, register: unknown];

const tables: readonly (readonly [keyof typeof listeners, readonly Row[], unknown])[] = [
  ["open", openRoutes, publicDeps],
  ["token", tokenRoutes, publicDeps],
  ["admin", adminRoutes, adminDeps],
];

const functions = tables.flatMap(([listener, rows, deps]) =>
  [...new Set(rows.map(([, , register]) => register as (app: unknown, deps: unknown) => void))].map(
    (register) => [`${listener}: ${register.name}`, listener, rows, register, deps] as const,
  ),
);

describe("the table has the routes of", () => {
  test.each(functions)("%s", (_, listener, rows, register, deps) => {
    const own = rows.filter(([, , other]) => other === register);
    const listed = own.flatMap(([path, who]) =>
      Object.entries(who).map(
        ([method, one]) => `${method} ${path} ${Array.isArray(one) ? one.join() : one}`,
      ),
    );
    const app = listeners[listener]();
    register(app, deps);
    const rowOf = (path: string) =>
      own.find(([one]) => one === path)?.[0] ??
      own.find(([one]) => one.endsWith("/*") && `${path}/`.startsWith(one.slice(0, -1)))?.[0];
    const declared = app.routes.map((route) => {
      return `${route.method} ${rowOf(route.path) ?? `${route.path} without a row`} ${whoMay(route)}`;
    });
    expect(new Set(declared)).toEqual(new Set(listed));
  });
});

const server = await testServer();

describe.each([
  ["public", server.publicUrl],
  ["admin", server.adminUrl],
])("the document of the %s listener", (listener, url) => {
  const routes = functions
    .filter(([name]) => name.startsWith("admin: ") === (listener === "admin"))
    .flatMap(([, which, , register, deps]) => {
      const app = listeners[which]();
      register(app, deps);
      return app.routes.map(({ method, path, hooks }) => ({
        method,
        path,
        isHidden: hooks.detail?.hide === true,
      }));
    });

  test("has its routes, all that are not hidden, and no other", async () => {
    const document = await documentOf(url);
    const names = routes
      .filter(({ isHidden }) => !isHidden)
      .map(({ method, path }) => `${method} ${path.replace(/:([a-z_]+)/g, "{$1}")}`);
    expect(new Set(names)).toEqual(new Set(operations(document).map(({ name }) => name)));
  });

  test("leaves out pages and metrics", () => {
    const hidden = routes.filter(({ isHidden }) => isHidden).map(({ path }) => path.split("/")[1] ?? "");
    const ofPublic = [
      "",
      "assets",
      "docs",
      "inter.woff2",
      "openapi-3.0.json",
      "openapi.json",
      "portal",
      "welcome",
    ];
    const ofAdmin = ["", "console", "docs", "metrics", "openapi-3.0.json", "openapi.json"];
    expect([...new Set(hidden)].sort()).toEqual(listener === "admin" ? ofAdmin : ofPublic);
  });
});
