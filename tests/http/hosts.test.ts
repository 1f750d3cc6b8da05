import { expect, test } from "bun:test";
import { exchange } from "../support/raw-client.ts";
import { testServer } from "../support/server.ts";

const server = await testServer();

test("a short Host does not lead to another path", async () => {
  const asked = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
  const { publicUrl, adminUrl } = server;
  // The router looks for the path from the eleventh character of a URL on.
  expect(await exchange(publicUrl, asked("/zz/public/v1/categories"))).toStartWith("HTTP/1.1 400 ");
  expect(await exchange(adminUrl, asked("/zz/healthz"))).toStartWith("HTTP/1.1 400 ");
});

test.each([
  ["with a space", "Host: a b\r\n"],
  ["with a user", "Host: user@localhost\r\n"],
  ["with a path", "Host: localhost/x\r\n"],
  ["with a query", "Host: a?b\r\n"],
  ["that is empty", "Host: \r\n"],
])("a Host %s does not lead to another path", async (_, line) => {
  const { publicUrl, adminUrl } = server;
  const asked = (path: string) => `GET ${path} HTTP/1.1\r\n${line}Connection: close\r\n\r\n`;
  const behindLongName = asked("/zzzzzzzzzzzzz/public/v1/categories");
  expect(await exchange(publicUrl, behindLongName)).toStartWith("HTTP/1.1 400 ");
  expect(await exchange(adminUrl, asked("/zzzzzzzzzzz/healthz"))).toStartWith("HTTP/1.1 4");
});
