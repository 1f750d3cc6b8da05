import { describe, expect, test } from "bun:test";
import { exchange } from "../../support/raw-client.ts";
import { type TestServer, testServer } from "../../support/server.ts";

const server = await testServer();

const request = (path: string, line: string, version = "HTTP/1.1") =>
  `GET ${path} ${version}\r\n${line}Connection: close\r\n\r\n`;

const listeners: [name: string, url: (server: TestServer) => string, path: string][] = [
  ["public", ({ publicUrl }) => publicUrl, "/public/v1/categories"],
  ["admin", ({ adminUrl }) => adminUrl, "/healthz"],
];

describe.each(listeners)("the %s listener", (_, url, path) => {
  const asked = (bytes: string) => exchange(url(server), bytes);

  test.each(["a", "a:1", "ab", "api", "api:80", "x.y", "[::1]", `${"long.".repeat(40)}example`])(
    "answers with the Host %s, at the requested path and no other",
    async (host) => {
      const line = `Host: ${host}\r\n`;
      expect(await asked(request(path, line))).toStartWith("HTTP/1.1 200 ");
      // Elysia's router expects the path from the eleventh character of a URL on.
      expect(await asked(request(`/zz${path}`, line))).not.toStartWith("HTTP/1.1 200 ");
      expect(await asked(request(`/zz/users?x=${path}`, line))).not.toStartWith("HTTP/1.1 200 ");
    },
  );

  test("answers HTTP/1.0 without Host, at the requested path and no other", async () => {
    const answer = await asked(request(path, "", "HTTP/1.0"));
    expect(answer).toStartWith("HTTP/1.1 200 ");
    expect(answer).toMatch(/x-request-id: /i);
    for (const other of ["/zz", "/zzzzzzzzzzzzz", "//zz", "//localhost", "/http://localhost"])
      expect(await asked(request(other + path, "", "HTTP/1.0"))).toStartWith("HTTP/1.1 404 ");
  });

  test.each([
    ["with a space", "Host: a b\r\n"],
    ["with a user", "Host: user@localhost\r\n"],
    ["with a path", "Host: localhost/x\r\n"],
    ["with a query", "Host: a?b\r\n"],
    ["that is empty", "Host: \r\n"],
  ])("does not answer to a Host %s", async (_, line) => {
    for (const version of ["HTTP/1.0", "HTTP/1.1"])
      for (const behind of ["", "/zz", "/zzzzzzzzzzzzz"])
        expect(await asked(request(behind + path, line, version))).toStartWith("HTTP/1.1 400 ");
  });

  test("does not answer HTTP/1.1 without Host", async () => {
    expect(await asked(request(path, ""))).toStartWith("HTTP/1.1 400 ");
  });
});

test("parameters of a request without Host are read", async () => {
  const asked = (query: string) =>
    exchange(server.publicUrl, request(`/public/v1/categories?${query}`, "", "HTTP/1.0"));
  expect(await asked("limit=1")).toStartWith("HTTP/1.1 200 ");
  expect(await asked("limit=0")).toContain('"field":"limit"');
});

const namedServer = await testServer({ args: ["--admin-hosts", "admin.example.com, Onair.internal"] });

/** The answer to a request with this `Host`. */
const asked = (path: string, host: string, method = "GET") =>
  exchange(namedServer.adminUrl, `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
const statusOf = async (...args: Parameters<typeof asked>) =>
  Number(/^HTTP\/1\.1 ([0-9]+)/.exec(await asked(...args))?.[1]);

const open = ["/metrics", "/docs", "/docs/api", "/openapi.json"];

test.each(["/metrics", "/admin/v1/users/1"])("%s is refused to a page of another name", async (path) => {
  const names = [
    "rebind.example",
    "rebind.example:8081",
    "localhost.example",
    "127.0.0.1.example",
    "127.0.0.1.nip.io",
    "xlocalhost",
    "admin.example.com.evil.example",
    "[::1].example",
    "long-enough-name",
  ];
  for (const name of names) expect([name, await statusOf(path, name)]).toEqual([name, 421]);
  for (const method of ["HEAD", "OPTIONS", "POST"]) {
    expect([method, await statusOf(path, "rebind.example", method)]).toEqual([method, 421]);
  }
});

test.each([...open, "/nothing"])("%s is refused to a page of another name, too", async (path) =>
  expect(await statusOf(path, "rebind.example")).toBe(421),
);

test("the refusal says which setting mends it, and gives nothing away", async () => {
  const answer = await asked("/metrics", "rebind.example");
  expect(answer).toContain('"code":"unknown_host"');
  expect(answer).toContain("--admin-hosts (ONAIR_ADMIN_HOSTS)");
  expect(answer).not.toContain("admin.example.com");
  expect(answer).not.toContain("onair_");
});

test.each(open)("%s answers to addresses, localhost, and the names of the setting", async (path) => {
  const { port } = new URL(namedServer.adminUrl);
  const hosts = [
    `127.0.0.1:${port}`,
    `localhost:${port}`,
    `LOCALHOST:${port}`,
    `[::1]:${port}`,
    // Through a tunnel or a forwarded port.
    "localhost:9000",
    "192.0.2.7:9000",
    "[2001:db8::7]",
    "admin.example.com",
    "ADMIN.example.com:8081",
    "onair.internal.",
  ];
  for (const host of hosts) expect([host, await statusOf(path, host)]).toEqual([host, 200]);
});

test("health is answered under any host name", async () => {
  for (const path of ["/healthz", "/readyz"]) {
    for (const host of ["10.1.2.3:8081", "onair-0.onair.svc.cluster.local:8081"]) {
      expect([path, host, await statusOf(path, host)]).toEqual([path, host, 200]);
    }
  }
});

test.each(["localhost:99999", "1.2.3.999", "[::::]", "[1.2]"])(
  "the documentation is served to the Host %s, which no URL can have",
  async (host) => {
    for (const url of [server.publicUrl, server.adminUrl])
      for (const path of ["/docs", "/docs/api", "/docs/search.json"]) {
        const answer = await exchange(url, request(path, `Host: ${host}\r\n`));
        expect(answer).toStartWith("HTTP/1.1 200 ");
        expect(answer).not.toContain(host);
      }
  },
);
