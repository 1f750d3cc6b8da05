import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { unusedPort } from "../../support/ports.ts";
import { hasProxy, startProxy } from "../../support/proxies.ts";
import { event, subscribe } from "../../support/publishing.ts";
import { exchange, RawClient } from "../../support/raw-client.ts";
import { categories, users } from "../../support/real-data.ts";
import { startServer, type TestServer } from "../../support/server.ts";
import { until } from "../../support/until.ts";

/*
 * The configurations of docs/proxies in front of a real server, without TLS, on free ports, and with shorter timeouts.
 */

const followed = "channel.followed";
/** Each proxy with its file, and a timeout that the tests shorten. */
const proxies = [
  ["caddy", "Caddyfile", "read_header 10s", "read_header 1s"],
  ["nginx", "nginx.conf", "client_header_timeout 10s", "client_header_timeout 1s"],
  ["haproxy", "haproxy.cfg", "timeout http-request 10s", "timeout http-request 1s"],
] as const;

for (const [program, file, ...timeout] of proxies) {
  describe.skipIf(!hasProxy(program))(`behind ${program} as docs/proxies has it`, () => {
    let server: TestServer;
    let port = "";
    let proxy: Awaited<ReturnType<typeof startProxy>>;
    let url = "";

    beforeAll(async () => {
      port = `${await unusedPort()}`;
      const limits = ["--trusted-proxies", "127.0.0.1", "--rate-limit", "600"];
      server = await startServer({ args: ["--port", port, ...limits] });
      proxy = await startProxy(program, file, [["127.0.0.1:8080", new URL(server.publicUrl).host], timeout]);
      url = proxy.url;
    });
    afterAll(async () => {
      await proxy.stop();
      await server.stop();
    });

    test("an invented X-Forwarded-For does not give a client another rate limit", async () => {
      const remaining = async (forged: string) => {
        const answer = await fetch(`${url}/public/v1/categories`, { headers: { "x-forwarded-for": forged } });
        return Number(answer.headers.get("ratelimit-remaining"));
      };
      // An address of its own would have 599 left. The bucket refills by ten a second, so one request tells too little.
      const forged = Array.from({ length: 50 }, (_, i) => `203.0.113.${i}`);
      expect(Math.min(...(await Promise.all(forged.map(remaining))))).toBeLessThan(590);
    });

    test("a head that does not end is cut off", async () => {
      const startedAt = performance.now();
      await exchange(url, "GET /public/v1/categories HTTP/1.1\r\nHost: localhost\r\nX-Slow: ");
      expect(performance.now() - startedAt).toBeLessThan(10_000);
    });

    test("an oversized head is refused", async () => {
      const head = `GET / HTTP/1.1\r\nHost: localhost\r\nX-Large: ${"x".repeat(100_000)}\r\n\r\n`;
      expect(await exchange(url, head)).toMatch(/^HTTP\/1\.1 4(00|14|31) /);
    });

    test("pipelined requests are answered in order", async () => {
      const paths = ["/public/v1/categories", "/unknown", "/public/v1/public-key", "/public/v1/users/a"];
      const { host } = new URL(url);
      const texts = paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      const client = new RawClient(url).send(texts.join(""));
      const answers = await client.answers(paths.length);
      expect(answers.map(({ status }) => status)).toEqual([200, 404, 200, 401]);
      client.reset();
    });

    const form = "grant_type=client_credentials&client_id=a&client_secret=a";
    const post = (length: string, body: string) =>
      `POST /oauth/token HTTP/1.1\r\nHost: ${new URL(url).host}\r\nContent-Type: application/x-www-form-urlencoded\r\n${length}\r\n\r\n${body}`;
    const sized = () => post(`Content-Length: ${form.length}`, form);
    const trailed = () =>
      post(
        "Transfer-Encoding: chunked",
        `${form.length.toString(16)}\r\n${form}\r\n0\r\nX-Checksum: 1\r\n\r\n`,
      );

    // As the table of docs/reverse-proxy.md has it.
    const exceptions: Readonly<Record<string, readonly string[]>> = {
      "a client that has closed its sending side": program === "nginx" ? [] : ["401"],
      "a chunked body with a trailer": program === "haproxy" ? ["400"] : ["401"],
    };
    test.each([
      ["a client that has closed its sending side", () => sized(), true],
      ["a body with CRLF behind it", () => `${sized()}\r\n`, false],
      ["a chunked body with a trailer", () => trailed(), false],
    ])("%s is answered", async (name, bytes, isHalfClosed) => {
      const client = new RawClient(url).send(bytes());
      if (isHalfClosed) client.socket.end();
      await until(() => client.text !== "" || client.hasEnded || client.isClosed);
      const [, ...statuses] = /^HTTP\/1\.1 ([0-9]+) /.exec(client.text) ?? [];
      expect(statuses).toEqual([...(exceptions[name] ?? ["401"])]);
      client.reset();
    });

    test("an oversized body is refused", async () => {
      const body = new Uint8Array(2 * 2 ** 20);
      const answer = await fetch(`${url}/oauth/token`, { method: "POST", body });
      expect([413, 415]).toContain(answer.status);
    });

    test("large JSON is compressed for a client that takes it, and for no other", async () => {
      await server.load("categories", categories);
      const page = (coding: string) =>
        fetch(`${url}/public/v1/categories?limit=100`, {
          headers: { "accept-encoding": coding },
          decompress: false,
        });
      const plain = await page("identity");
      const small = await page("gzip");
      const codings = [plain, small].map(({ headers }) => headers.get("content-encoding"));
      expect(codings).toEqual([null, "gzip"]);
      expect(small.headers.get("vary")?.toLowerCase()).toContain("accept-encoding");
      const unpacked = new TextDecoder().decode(Bun.gunzipSync(await small.arrayBuffer()));
      expect(JSON.parse(unpacked)).toEqual(await plain.json());
    });

    test("events of a stream come as they happen", async () => {
      const application = await server.application({ delivery: "stream" });
      await server.load("users", users.slice(0, 50));
      await subscribe(server, application, [followed]);
      const abort = new AbortController();
      const answer = await fetch(`${url}/public/v1/events/stream`, {
        headers: { authorization: `Bearer ${application.token}` },
        signal: abort.signal,
      });
      let text = "";
      const reading = (async () => {
        const decoder = new TextDecoder();
        for await (const bytes of answer.body ?? []) text += decoder.decode(bytes, { stream: true });
      })().catch(() => {});
      expect((await server.admin("POST", "/admin/v1/events", event(followed))).status).toBe(202);
      await until(() => text.includes(`event: ${followed}`));
      abort.abort();
      await reading;
    });

    // nginx does not wait between two tries. Caddy 2.6 has closed the body of a request by its second try.
    test.skipIf(program === "nginx")("requests wait while the server is started again", async () => {
      await server.stop();
      const read = fetch(`${url}/public/v1/categories`);
      const body = new URLSearchParams({
        grant_type: "client_credentials",
        client_id: "a",
        client_secret: "a",
      });
      const written = program === "haproxy" && fetch(`${url}/oauth/token`, { method: "POST", body });
      server = await startServer({ args: ["--port", port] });
      expect((await read).status).toBe(200);
      if (written) expect((await written).status).toBe(401);
    });
  });
}
