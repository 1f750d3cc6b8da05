import { describe, expect, test } from "bun:test";
import { proxyOf } from "../../../src/delivery/send/address.ts";
import type { SendResult } from "../../../src/delivery/send/send.ts";
import { closedPort, unusedPort } from "../../support/ports.ts";
import { event, publish, subscribe } from "../../support/publishing.ts";
import { users } from "../../support/real-data.ts";
import { ownServer } from "../../support/server.ts";
import { until } from "../../support/until.ts";
import { type EgressProxy, egressProxy } from "../fixtures/proxy.ts";
import {
  bytesReceiver,
  certificate,
  delivery,
  rawReceiver,
  receiver,
  respond,
  sender,
} from "../fixtures/receiver.ts";

test("the setting holds for all deliveries of a server", async () => {
  const proxy = await egressProxy();
  const target = await respond();
  const server = await ownServer({ users, env: { ONAIR_WEBHOOK_PROXY: `http://127.0.0.1:${proxy.port}` } });
  const app = await server.application({ webhook_url: target.url });
  await subscribe(server, app, ["channel.followed"]);
  expect((await publish(server, event("channel.followed"))).status).toBe(202);
  await until(() => target.requests.length > 0);
  expect(proxy.requests.map(({ line }) => line)).toEqual([`POST ${target.url} HTTP/1.1`]);
});

/** A sender whose own resolver must not be asked: names are the proxy's to resolve. */
function senderBy(proxy: string, options = {}) {
  const resolve = () => {
    throw new Error("resolved");
  };
  return sender({ proxy, resolve, ca: certificate, ...options });
}

const credentials = "hush:s%40crets";
const authorization = `Basic ${btoa("hush:s@crets")}`;

/** Checks that no part of a result has what only the operator may know of a proxy. */
function expectDiscreet(result: SendResult, proxy: { port: number }): void {
  const text = JSON.stringify(result);
  for (const secret of ["hush", "s@crets", authorization, "127.0.0.1", String(proxy.port)]) {
    expect(text).not.toContain(secret);
  }
}

describe("by an egress proxy", () => {
  for (const encrypted of [false, true]) {
    const kind = encrypted ? "https" : "http";
    const url = ({ port }: EgressProxy) => `${kind}://${credentials}@127.0.0.1:${port}`;

    test(`of ${kind}, an https target is reached by CONNECT, and the connection is kept`, async () => {
      const target = await receiver((_, response) => response.end("thanks"), { tls: true });
      const proxy = await egressProxy({ encrypted });
      const one = senderBy(url(proxy));
      for (const timing of ["number", "object"] as const) {
        const result = await one.send(delivery(`${target.url}hook?a=b`));
        expect(result).toMatchObject({ class: "ok", responseBody: "thanks", repeated: false });
        expect(result.timings.dnsMs).toBeNull();
        expect<string>(typeof result.timings.connectMs).toBe(timing);
        expect<string>(typeof result.timings.tlsMs).toBe(timing);
        expect(result.timings.firstByteMs).toBeNumber();
      }
      const authority = `hook.test:${target.port}`;
      expect(proxy.requests).toEqual([
        {
          line: `CONNECT ${authority} HTTP/1.1`,
          headers: { host: authority, "proxy-authorization": authorization },
        },
      ]);
      expect(target.requests).toHaveLength(2);
      for (const { path, headers } of target.requests) {
        expect(path).toBe("/hook?a=b");
        expect(headers).toMatchObject({ host: authority });
        expect(headers["proxy-authorization"]).toBeUndefined();
      }
    });

    test(`of ${kind}, an http target is named in full`, async () => {
      const target = await receiver((_, response) => response.end("thanks"));
      const proxy = await egressProxy({ encrypted });
      const result = await senderBy(url(proxy)).send(delivery(`${target.url}hook?a=b`));
      expect(result).toMatchObject({ class: "ok", responseBody: "thanks" });
      expect(proxy.requests).toEqual([
        {
          line: `POST ${target.url}hook?a=b HTTP/1.1`,
          headers: expect.objectContaining({
            host: `hook.test:${target.port}`,
            "proxy-authorization": authorization,
          }),
        },
      ]);
    });

    test(`of ${kind}, the certificate of the target is checked as always`, async () => {
      const target = await receiver((_, response) => response.end(), { tls: true });
      const proxy = await egressProxy({ encrypted });
      const one = senderBy(url(proxy));
      for (const host of ["other.test", "10.1.2.3"]) {
        expect(await one.send(delivery(`https://${host}:${target.port}/`))).toMatchObject({
          class: "tls",
          error: "The certificate is not valid for this host name.",
        });
      }
      expect(proxy.requests).toHaveLength(2);
      expect(target.requests).toHaveLength(0);
    });
  }

  test("an https target with an untrusted certificate is not reached", async () => {
    const target = await receiver((_, response) => response.end(), { tls: true });
    const proxy = await egressProxy();
    const one = senderBy(`http://127.0.0.1:${proxy.port}`, { ca: undefined });
    expect(await one.send(delivery(target.url))).toMatchObject({ class: "tls", status: null });
    expect(target.requests).toHaveLength(0);
  });

  test("an https proxy must have a trusted certificate", async () => {
    const proxy = await egressProxy({ encrypted: true });
    const result = await senderBy(`https://127.0.0.1:${proxy.port}`, { ca: undefined }).send(
      delivery("https://hook.test/"),
    );
    expect(result).toMatchObject({
      class: "proxy",
      error: "The egress proxy could not be reached (DEPTH_ZERO_SELF_SIGNED_CERT).",
    });
    expect(proxy.requests).toHaveLength(0);
  });

  test("nothing is sent to a URL with a private address; the address of the proxy itself may be private", async () => {
    const proxy = await egressProxy();
    const one = senderBy(`http://127.0.0.1:${proxy.port}`, { allowPrivate: false });
    for (const host of ["127.0.0.1", "0x7f.1", "[::1]", "169.254.169.254", "localhost", "a.internal"]) {
      expect(await one.send(delivery(`https://${host}/`))).toMatchObject({ class: "blocked", durationMs: 0 });
    }
    expect(proxy.requests).toHaveLength(0);
    expect(await one.send(delivery(`https://hook.test:${closedPort}/`))).toMatchObject({
      class: "unreachable",
    });
    expect(proxy.requests).toHaveLength(1);
  });

  test("an IPv6 address keeps its brackets", async () => {
    const proxy = await egressProxy({ answer: "HTTP/1.1 403 Forbidden\r\n\r\n" });
    await senderBy(`http://127.0.0.1:${proxy.port}`).send(delivery("https://[2606:4700::1]/"));
    expect(proxy.requests[0]).toEqual({
      line: "CONNECT [2606:4700::1]:443 HTTP/1.1",
      headers: { host: "[2606:4700::1]:443" },
    });
  });
});

describe("an egress proxy that fails", () => {
  test.each([
    ["HTTP/1.1 407 Who\r\n\r\n", "proxy", "The egress proxy did not accept the credentials (407)."],
    ["HTTP/1.1 403 Forbidden\r\n\r\n", "proxy", "The egress proxy refused the connection (403)."],
    ["HTTP/1.1 301 Moved\r\nlocation: /\r\n\r\n", "proxy", "The egress proxy refused the connection (301)."],
    ["HTTP/1.1 502 Bad\r\n\r\n", "unreachable", "The egress proxy could make no connection (502)."],
    ["HTTP/1.0 503 No\r\n\r\n", "unreachable", "The egress proxy could make no connection (503)."],
    ["hello\r\n", "proxy", "The egress proxy did not answer with valid HTTP."],
    ["HTTP/1.1 200 OK\r\n\r\nearly", "proxy", "The egress proxy did not answer with valid HTTP."],
    [
      `HTTP/1.1 200 OK\r\nx: ${"x".repeat(17_000)}`,
      "proxy",
      "The egress proxy did not answer with valid HTTP.",
    ],
    ["", "proxy", "The egress proxy closed the connection."],
  ])("by %p is a failure of class %s", async (answer, kind, error) => {
    const proxy = await egressProxy({ answer });
    const result = await senderBy(`http://${credentials}@127.0.0.1:${proxy.port}`).send(
      delivery("https://hook.test/"),
    );
    expect(result as object).toMatchObject({ class: kind, status: null, error, repeated: false });
    expectDiscreet(result, proxy);
    expect(proxy.requests).toHaveLength(1);
    await proxy.closed();
  });

  test("by 407 to a request for an http target", async () => {
    const proxy = await bytesReceiver("HTTP/1.1 407 Who\r\ncontent-length: 0\r\n\r\n");
    const result = await senderBy(`http://${credentials}@127.0.0.1:${proxy.port}`).send(
      delivery("http://hook.test/"),
    );
    expect(result).toMatchObject({
      class: "proxy",
      status: null,
      error: "The egress proxy did not accept the credentials (407).",
    });
    expectDiscreet(result, proxy);
  });

  test("by not being there", async () => {
    const port = await unusedPort();
    for (const url of ["https://hook.test/", "http://hook.test/"]) {
      const result = await senderBy(`http://${credentials}@127.0.0.1:${port}`).send(delivery(url));
      expect(result).toMatchObject({
        class: "proxy",
        error: "The egress proxy could not be reached (ECONNREFUSED).",
      });
      expectDiscreet(result, { port });
    }
  });

  test("by having no address", async () => {
    const result = await senderBy("http://proxy.invalid:3128").send(delivery("https://hook.test/"));
    expect(result.class).toBe("proxy");
    expect(result.error).toStartWith("The egress proxy could not be reached (");
    expect(result.error).not.toContain("proxy.invalid");
  });

  test("by saying nothing, until the time is over", async () => {
    const proxy = await rawReceiver(() => {});
    const plain = senderBy(`http://127.0.0.1:${proxy.port}`, { timeoutMs: 200 });
    const encrypted = senderBy(`https://127.0.0.1:${proxy.port}`, { timeoutMs: 200 });
    const [waiting, connecting] = await Promise.all(
      [plain, encrypted].map((one) => one.send(delivery("https://hook.test/"))),
    );
    expect(waiting).toMatchObject({
      class: "timeout",
      error: "The time limit of 0.2 s was reached while waiting for the egress proxy.",
    });
    expect(connecting).toMatchObject({
      class: "proxy",
      error: "The time limit of 0.2 s was reached while connecting to the egress proxy.",
    });
    await Promise.all(proxy.connections.map(({ closed }) => closed));
  });
});

describe("the URL of an egress proxy", () => {
  test.each([
    ["http://proxy:3128", { encrypted: false, host: "proxy", port: 3128, authorization: null }],
    ["http://proxy", { encrypted: false, host: "proxy", port: 80, authorization: null }],
    ["https://[::1]/", { encrypted: true, host: "::1", port: 443, authorization: null }],
    [
      "http://us%40er:p%C3%A9%3A@proxy:1",
      {
        encrypted: false,
        host: "proxy",
        port: 1,
        authorization: `Basic ${Buffer.from("us@er:pé:").toString("base64")}`,
      },
    ],
  ])("%p", (url, expected) => expect(proxyOf(url)).toEqual(expected));

  test.each([
    "",
    "proxy:3128",
    "socks5://hush@proxy",
    "http://hush@proxy/path",
    "http://hush@proxy?x",
    "http://hush@proxy#x",
    "http://hush@proxy:0",
    "http://hush:%ff@proxy",
    "http://hush%3A@proxy",
    "http://hush:%0a@proxy:99999",
  ])("%p is none, and is not repeated", (url) => {
    expect(() => proxyOf(url)).toThrow(/^must be an http or https URL without path/);
    expect(() => proxyOf(url)).not.toThrow(/hush/);
  });
});
