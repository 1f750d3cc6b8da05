import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { networkInterfaces } from "node:os";
import type { AnyElysia } from "elysia";
import { ulidPattern } from "../../src/domain/ids.ts";
import { answererOf } from "../../src/http/public-listening.ts";
import { listener } from "../../src/http/server.ts";
import { createLog } from "../../src/log.ts";
import type { Answerer } from "../../src/wire/answerer.ts";
import { Connection } from "../../src/wire/connection.ts";
import { WireFault } from "../../src/wire/fault.ts";
import type { Head } from "../../src/wire/head.ts";
import type { Reply } from "../../src/wire/reply.ts";
import type { RawAnswer } from "../support/http-answers.ts";
import { keptLog } from "../support/kept-log.ts";
import { lastAnswer, RawClient } from "../support/raw-client.ts";
import { users } from "../support/real-data.ts";
import { startServer, type TestApplication, type TestServer } from "../support/server.ts";
import { FakeSocket, get, read, request } from "../support/wire.ts";

/** The public API over the HTTP of `src/wire`: what reaches it, and what is answered in front of it. */

let server: TestServer;
let app: TestApplication;

beforeAll(async () => {
  server = await startServer();
  await server.load("users", users);
  app = await server.application();
});
afterAll(() => server.stop());

/** The answers to these bytes. */
async function ask(text: string, count = 1): Promise<readonly RawAnswer[]> {
  const client = new RawClient(server.app.publicUrl).send(text);
  const answers = await client.answers(count);
  client.reset();
  return answers;
}

/** The status and code of the answer to these bytes, which is an error in the one shape and the last one. */
async function errorOf(text: string): Promise<[number, string]> {
  const { status, headers, body } = await lastAnswer(server.app.publicUrl, text);
  const error = JSON.parse(body);
  expect(Object.keys(error).sort()).toEqual(["code", "errors", "message", "request_id"]);
  expect(error.errors).toEqual([]);
  expect(error.request_id).toMatch(new RegExp(ulidPattern));
  expect(Object.fromEntries(headers)).toMatchObject({
    "content-type": "application/json",
    "cache-control": "no-store",
    "access-control-allow-origin": "*",
    "x-request-id": error.request_id,
    date: expect.any(String),
  });
  return [status, error.code];
}

describe("what cannot be read as a request", () => {
  const categories = "/public/v1/categories";
  const subscriptions = "/public/v1/events/subscriptions";

  test.each<[string, string, number, string]>([
    ["no Host", "GET / HTTP/1.1\r\n\r\n", 400, "malformed_request"],
    ["a space before a colon", get(categories, "Content-Length : 5"), 400, "malformed_request"],
    [
      "both lengths",
      request("POST", subscriptions, "Content-Length: 5", "Transfer-Encoding: chunked"),
      400,
      "malformed_request",
    ],
    [
      "a chunk without a size",
      `${request("POST", subscriptions, "Transfer-Encoding: chunked")}x\r\n`,
      400,
      "malformed_request",
    ],
    ["lines that end with LF", `GET ${categories} HTTP/1.1\nHost: a\n\n`, 400, "malformed_request"],
    ["a target of 16 KiB", get(`/${"x".repeat(16_384)}`), 414, "target_too_long"],
    ["another expectation", get(categories, "Expect: 200-ok"), 417, "expectation_failed"],
    ["a head of 16 KiB", get(categories, `X: ${"x".repeat(16_384)}`), 431, "head_too_large"],
    ["101 header lines", get(categories, ...Array(100).fill("X: y")), 431, "head_too_large"],
    [
      "another coding",
      request("POST", subscriptions, "Transfer-Encoding: gzip, chunked"),
      501,
      "coding_not_implemented",
    ],
    // What Bun's `Request` would make a GET of.
    ["another method", request("FOO", categories), 501, "method_not_implemented"],
    ["HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "version_not_supported"],
  ])("%s is answered in the one shape, and ends the connection", async (_, text, status, code) => {
    expect(await errorOf(text)).toEqual([status, code]);
  });

  test("what takes too long to arrive is answered in the one shape, too", () => {
    const { answerer } = answering(() => {});
    const fault = new WireFault("request_timeout", "Too slow");
    const { status, ready, body } = answerer.refuse(fault, connectionTo(answerer));
    expect(status).toBe(408);
    expect(Buffer.from(ready?.bytes ?? []).toString()).toMatch(/^content-type: application\/json\r\n/m);
    expect(JSON.parse(Buffer.from(body as Uint8Array).toString())).toMatchObject({
      code: "request_timeout",
      message: "Too slow",
    });
  });
});

describe("a path is taken as it came", () => {
  const token = () => `Authorization: Bearer ${app.token}`;
  const user = "/public/v1/users/xqcow";

  test.each([
    ["", 200],
    ["?", 200],
    ["?a=/../b\\", 200],
    ["#", 400],
    ["/", 404],
    ["/.", 404],
    ["/..", 404],
    ["/../xqcow", 404],
    ["/%2e%2E/xqcow", 404],
    ["/.%2e/xqcow?a", 404],
  ])(`${user}%s`, async (rest, status) => {
    const [answer] = await ask(get(user + rest, token()));
    expect(answer?.status).toBe(status);
  });

  test.each([
    ["/public/v1/./users/xqcow", 404],
    ["/x/../public/v1/users/xqcow", 404],
    ["/public\\v1\\users\\xqcow", 404],
    ["\\public/v1/users/xqcow", 400],
    ["//public/v1/users/xqcow", 404],
    ["/public/v1//users/xqcow", 404],
    ["/public%2fv1/users/xqcow", 404],
    ["/Public/v1/users/xqcow", 404],
    // What is encoded without need means the same.
    ["/public/v1/users/%78qcow", 200],
    ["/%70ublic/v1/users/xqcow", 404],
    // RFC 9112, section 3.2.2.
    ["http://elsewhere.example/public/v1/users/xqcow", 200],
    ["http://elsewhere.example/x/../public/v1/users/xqcow", 404],
  ])("%s", async (target, status) => {
    const [answer] = await ask(get(target, token()));
    expect(answer?.status).toBe(status);
    if (status !== 200)
      expect(JSON.parse(answer?.body ?? "")).toMatchObject({
        code: status === 404 ? "not_found" : "malformed_request",
      });
  });
});

test.each(["TRACE", "PUT", "PATCH", "DELETE"])(
  "%s is known, but no path of these answers it",
  async (method) => {
    for (const path of ["/public/v1/categories", "/public/v1/users/xqcow"]) {
      const [answer] = await ask(request(method, path));
      expect(answer?.status).toBe(405);
      expect(answer?.headers.get("allow")).toBe("GET, HEAD, OPTIONS");
    }
  },
);

test("nothing that a client sends gets into the head of an answer as it came", async () => {
  const requests = [
    get("/nothing", "X-Request-Id: a\xc4\x8d\xc4\x8ab"),
    get("/oauth/authorize?state=%0d%0aX-Injected:%20a&redirect_uri=%0d%0a&client_id=%0d%0a"),
    get("/%0d%0aX-Injected:%20a"),
  ];
  for (const { headers } of await ask(requests.join(""), requests.length)) {
    expect(headers.get("x-injected")).toBeUndefined();
    expect(headers.get("x-request-id")).toMatch(new RegExp(ulidPattern));
  }
});

const connectionTo = (answerer: Answerer) => new Connection(new FakeSocket(), answerer, () => 0);

function headOfGet(): Head {
  const head = read(get("/a"));
  if (Array.isArray(head)) throw new Error("it was refused");
  return head;
}

/** What a GET of `/a` is answered with. */
async function replyTo(answerer: Answerer): Promise<Reply> {
  const reply = answerer.answer(headOfGet(), null, connectionTo(answerer));
  return typeof reply === "function" ? new Promise(reply) : reply;
}

/** An answerer in front of one route, and what it logs. */
function answering(handler: () => unknown, ready?: Parameters<typeof answererOf>[1]) {
  const { log, lines } = keptLog();
  const route: AnyElysia = listener({ log, headers: {} }).get("/a", handler);
  const answerer = answererOf(route, ready);
  return {
    answerer,
    /** What a GET of `/a` is answered with. */
    async answer() {
      const { status, body } = await replyTo(answerer);
      return { status, body: JSON.parse(Buffer.from(body as Uint8Array).toString()) };
    },
    logged: async () => (await lines()).join("\n"),
  };
}

describe("the answerer neither throws nor rejects", () => {
  const failure = new Error("secret detail");
  const fails = () => {
    throw failure;
  };
  const broken = () =>
    new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.error(failure);
      },
    });

  test.each<[string, Parameters<typeof answering>]>([
    ["a handler throws", [fails]],
    ["a handler rejects", [async () => fails()]],
    ["a handler throws what is no error", [() => Promise.reject("secret detail")]],
    ["an answer that is not ours breaks off", [() => new Response(broken())]],
    ["what is in front of the app throws", [() => {}, fails]],
    ["its answer breaks off", [() => {}, () => new Response(broken())]],
  ])("%s", async (_, args) => {
    const { answer, logged } = answering(...args);
    const { status, body } = await answer();
    expect(status).toBe(500);
    expect(body.code).toBe("internal_error");
    expect(body.request_id).toMatch(new RegExp(ulidPattern));
    expect(JSON.stringify(body)).not.toContain("secret");
    const log = await logged();
    expect(log).toContain("secret detail");
    expect(log).toContain(`"request_id":"${body.request_id}","method":"GET","path":"/a","status":500`);
  });

  test("an app that breaks down itself", async () => {
    const route = listener({ log: createLog("off"), headers: {} });
    Object.assign(route, { compile: () => ({ fetch: () => Promise.reject(failure) }) });
    const answerer = answererOf(route, undefined);
    expect((await replyTo(answerer)).status).toBe(500);
  });
});

const hasIpv6 = Object.values(networkInterfaces()).some((all) =>
  all?.some(({ address }) => address === "::1"),
);

test.skipIf(!hasIpv6)("both listeners take an IPv6 address, whose URL has brackets", async () => {
  const onIpv6 = await startServer({ args: ["--host", "[::1]", "--admin-host", "[::1]"] });
  try {
    for (const url of [onIpv6.app.publicUrl, onIpv6.app.adminUrl]) {
      expect(url).toMatch(/^http:\/\/\[::1\]:\d+$/);
      const document = await (await fetch(`${url}/openapi.json`)).json();
      expect(document).toMatchObject({ servers: [{ url }] });
    }
  } finally {
    await onIpv6.stop();
  }
});
