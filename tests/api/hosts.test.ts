import { describe, expect, test } from "bun:test";
import { exchange } from "../support/raw-client.ts";
import { type TestServer, testServer } from "../support/server.ts";

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
