import { expect, test } from "bun:test";
import { exchange } from "../support/raw-client.ts";
import { testServer } from "../support/server.ts";

const server = await testServer({ args: ["--admin-hosts", "admin.example.com, Onair.internal"] });

/** The answer to a request with this `Host`. */
const asked = (path: string, host: string, method = "GET") =>
  exchange(server.adminUrl, `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
const statusOf = async (...args: Parameters<typeof asked>) =>
  Number(/^HTTP\/1\.1 ([0-9]+)/.exec(await asked(...args))?.[1]);

const open = ["/metrics", "/docs", "/openapi.json"];

test.each([...open, "/admin/v1/users/1", "/nothing"])(
  "%s is refused to a page of another name",
  async (path) => {
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
  },
);

test("the refusal says which setting mends it, and gives nothing away", async () => {
  const answer = await asked("/metrics", "rebind.example");
  expect(answer).toContain('"code":"unknown_host"');
  expect(answer).toContain("--admin-hosts (ONAIR_ADMIN_HOSTS)");
  expect(answer).not.toContain("admin.example.com");
  expect(answer).not.toContain("onair_");
});

test.each(open)("%s answers to addresses, localhost, and the names of the setting", async (path) => {
  const { port } = new URL(server.adminUrl);
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
