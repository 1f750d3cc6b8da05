import { afterEach, describe, expect, test } from "bun:test";
import { isIP, type Socket } from "node:net";
import type { Resolve } from "../../../src/webhooks/address.ts";
import {
  bytesReceiver,
  certificate,
  closeAll,
  closedPort,
  delivery,
  type Receiver,
  rawReceiver,
  receiver,
  resolveTo,
  sender,
} from "../fixtures/receiver.ts";

afterEach(closeAll);

const ok = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

function respond(status = 200, { tls = false } = {}): Promise<Receiver> {
  return receiver((_, response) => response.writeHead(status).end(), { tls });
}

/** Resolves to one of these answers after the other, and counts how often it was asked. */
function resolveInTurn(...answers: string[][]): { resolve: Resolve; asked: string[] } {
  const asked: string[] = [];
  const resolve: Resolve = (hostname, _options, callback) => {
    asked.push(hostname);
    const answer = answers.shift() ?? [];
    callback(
      null,
      answer.map((address) => ({ address, family: isIP(address) })),
    );
  };
  return { resolve, asked };
}

describe("a kept connection", () => {
  test("is used again: no resolving, no connecting", async () => {
    for (const tls of [false, true]) {
      const target = await respond(200, { tls });
      const { resolve, asked } = resolveInTurn(["127.0.0.1"]);
      const one = sender({ resolve, ca: certificate });
      const first = await one.send(delivery(target.url));
      expect(first).toMatchObject({ class: "ok", repeated: false });
      expect(first.timings.connectMs).toBeNumber();
      expect(first.timings.firstByteMs).toBeNumber();
      expect(typeof first.timings.tlsMs).toBe(tls ? "number" : "object");

      const second = await one.send(delivery(target.url));
      expect(second).toMatchObject({ class: "ok", repeated: false });
      expect(second.timings).toMatchObject({ dnsMs: null, connectMs: null, tlsMs: null });
      expect(second.timings.firstByteMs).toBeNumber();
      expect(target.connections).toHaveLength(1);
      expect(asked).toEqual(["hook.test"]);
    }
  });

  test("gathers no listeners over its many uses", async () => {
    const target = await respond();
    const one = sender();
    const warnings: Error[] = [];
    const note = (warning: Error) => warnings.push(warning);
    process.on("warning", note);
    for (let attempt = 1; attempt <= 30; attempt++) await one.send(delivery(target.url));
    await new Promise((resolve) => setTimeout(resolve, 1));
    process.off("warning", note);
    expect(target.connections).toHaveLength(1);
    expect(warnings).toEqual([]);
  });

  test("is not kept where the receiver says so", async () => {
    const target = await receiver((_, response) => response.writeHead(200, { connection: "close" }).end());
    const one = sender();
    for (const connections of [1, 2]) {
      expect(await one.send(delivery(target.url))).toMatchObject({ class: "ok", repeated: false });
      expect(target.connections).toHaveLength(connections);
    }
  });

  test("serves one attempt at a time", async () => {
    const target = await respond();
    const one = sender();
    await Promise.all(Array.from({ length: 20 }, () => one.send(delivery(target.url))));
    expect(target.connections).toHaveLength(20);
    await Promise.all(Array.from({ length: 20 }, () => one.send(delivery(target.url))));
    expect(target.connections).toHaveLength(20);
  });

  test("that the receiver closes when it is used again costs no failure", async () => {
    for (const how of ["end", "resetAndDestroy"] as const) {
      const target = await rawReceiver((socket, count) => (count === 1 ? socket.write(ok) : socket[how]()));
      const one = sender();
      expect(await one.send(delivery(target.url))).toMatchObject({ class: "ok", repeated: false });
      expect(await one.send(delivery(target.url))).toMatchObject({ class: "ok", repeated: true });
      expect(target.connections).toHaveLength(2);
      const ids = target.requests.map(({ body }) => /^webhook-id: (.*)$/m.exec(body.toString())?.[1]);
      expect(ids).toEqual(Array(3).fill("01KEYF5T7Z2X4Q8R6W3M1N0PVC"));
    }
  });

  test("that broke is not replaced by another kept one, which may have gone the same way", async () => {
    const target = await rawReceiver((socket, count) => (count === 1 ? socket.write(ok) : socket.end()));
    const one = sender();
    await Promise.all([1, 2, 3].map(() => one.send(delivery(target.url))));
    expect(target.connections).toHaveLength(3);
    expect(await one.send(delivery(target.url))).toMatchObject({ class: "ok", repeated: true });
    expect(target.requests).toHaveLength(5);
  });

  test("that broke is replaced once, not for ever", async () => {
    let requests = 0;
    const target = await rawReceiver((socket) => {
      requests += 1;
      if (requests === 1) socket.write(ok);
      else socket.resetAndDestroy();
    });
    const one = sender();
    expect(await one.send(delivery(target.url))).toMatchObject({ class: "ok" });
    expect(await one.send(delivery(target.url))).toMatchObject({ class: "reset", repeated: true });
    expect(requests).toBe(3);
  });

  test("that broke amid an answer is not replaced: the receiver has read the request", async () => {
    const target = await rawReceiver((socket, count) =>
      count === 1 ? socket.write(ok) : socket.end("HTTP/1.1 200 OK\r\nx: "),
    );
    const one = sender();
    expect(await one.send(delivery(target.url))).toMatchObject({ class: "ok" });
    expect(await one.send(delivery(target.url))).toMatchObject({ class: "reset", repeated: false });
    expect(target.requests).toHaveLength(2);
  });

  test("and the one after it share the time allowed", async () => {
    const target = await rawReceiver((socket, count) => {
      if (target.connections.length > 1) return;
      if (count === 1) socket.write(ok);
      else socket.end();
    });
    const one = sender({ timeoutMs: 400 });
    expect(await one.send(delivery(target.url))).toMatchObject({ class: "ok" });
    expect(await one.send(delivery(target.url))).toMatchObject({ class: "timeout", repeated: true });
  });

  test("that the receiver closes meanwhile is not used again", async () => {
    const target = await rawReceiver((socket) => socket.write(ok));
    const one = sender();
    expect(await one.send(delivery(target.url))).toMatchObject({ class: "ok" });
    target.connections[0]?.socket.end();
    await target.connections[0]?.closed;
    expect(await one.send(delivery(target.url))).toMatchObject({ class: "ok" });
    expect(target.requests).toHaveLength(2);
  });

  test("does not carry over what a receiver sends unasked", async () => {
    const target = await rawReceiver((socket) => socket.write(ok + ok.replace("200 OK", "500 Oops")));
    const one = sender();
    for (let attempt = 1; attempt <= 3; attempt++) {
      expect(await one.send(delivery(target.url))).toMatchObject({ class: "ok", status: 200 });
    }
  });

  test("is closed when the receiver answered without reading the request", async () => {
    const target = await rawReceiver((socket, count) => {
      if (count > 1) return;
      socket.pause();
      socket.write("HTTP/1.1 413 Content Too Large\r\ncontent-length: 0\r\n\r\n");
    });
    const large = new Uint8Array(30_000_000);
    const result = await sender().send({ ...delivery(target.url), body: large });
    expect(result).toMatchObject({ class: "status", status: 413 });
    // The close comes after what was sent before it.
    target.connections[0]?.socket.resume();
    await target.connections[0]?.closed;
  });
});

describe("connections that nobody uses", () => {
  test("are closed when the receiver has announced that it will", async () => {
    const target = await rawReceiver((socket) =>
      socket.write("HTTP/1.1 204 No Content\r\nkeep-alive: timeout=2\r\n\r\n"),
    );
    const one = sender();
    const startedAt = performance.now();
    for (const _ of [1, 2]) expect(await one.send(delivery(target.url))).toMatchObject({ class: "ok" });
    expect(target.connections).toHaveLength(1);
    await target.connections[0]?.closed;
    // A second before it would; unannounced, it would be kept for 5.
    expect(performance.now() - startedAt).toBeWithin(950, 4_000);
  });

  test.each([
    ["two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\ncontent-length: 1\r\n\r\n"],
    [
      "a length and chunks",
      `HTTP/1.1 200 OK\r\ncontent-length: 0\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    ["HTTP/1.0", "HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n"],
    ["bytes beyond the answer", `${ok}x`],
  ])("are closed at once after an answer with %s", async (_, bytes) => {
    const target = await bytesReceiver(bytes);
    const one = sender();
    expect(await one.send(delivery(target.url))).toMatchObject({ class: "ok", status: 200 });
    await target.connections[0]?.closed;
    expect(await one.send(delivery(target.url))).toMatchObject({ class: "ok", repeated: false });
  });

  test("are closed when the receiver speaks unasked", async () => {
    const target = await rawReceiver((socket) => socket.write(ok));
    const one = sender();
    expect(await one.send(delivery(target.url))).toMatchObject({ class: "ok" });
    target.connections[0]?.socket.write(ok);
    await target.connections[0]?.closed;
    expect(await one.send(delivery(target.url))).toMatchObject({ class: "ok", repeated: false });
  });
});

describe("no connection", () => {
  test("where nothing listens", async () => {
    const port = await closedPort();
    for (const url of [`http://hook.test:${port}/`, `http://127.0.0.1:${port}/`]) {
      expect(await sender().send(delivery(url))).toMatchObject({
        class: "refused",
        status: null,
        error: "The connection was refused.",
        repeated: false,
      });
    }
  });

  test("to one address, but to the next", async () => {
    const target = await respond();
    const resolve = resolveTo("::1", "127.0.0.1");
    expect(await sender({ resolve }).send(delivery(target.url))).toMatchObject({ class: "ok" });
  });

  test("without an address", async () => {
    expect(await sender({ resolve: resolveTo() }).send(delivery("http://hook.test/"))).toMatchObject({
      class: "dns",
      error: "The host name could not be resolved (ENOTFOUND).",
    });
  });

  test("while a resolver does not answer", async () => {
    expect(
      await sender({ resolve: () => {}, timeoutMs: 30 }).send(delivery("http://hook.test/")),
    ).toMatchObject({
      class: "timeout",
      error: "The time of 0.03 s was over while resolving the host name.",
    });
  });

  test("by the system's resolver to a name that cannot exist (RFC 6761)", async () => {
    const { class: kind, error } = await sender({ resolve: undefined }).send(
      delivery("http://hook.invalid/"),
    );
    expect(kind).toBe("dns");
    expect(error).not.toContain("hook.invalid");
  });
});

describe("TLS", () => {
  test("by a trusted certificate for the name or address", async () => {
    const target = await respond(204, { tls: true });
    const one = sender({ ca: certificate });
    for (const url of [target.url, `https://127.0.0.1:${target.port}/`]) {
      expect(await one.send(delivery(url))).toMatchObject({ class: "ok", status: 204 });
    }
  });

  test("fails by a certificate that nobody vouches for", async () => {
    const target = await respond(204, { tls: true });
    expect(await sender().send(delivery(target.url))).toMatchObject({
      class: "tls",
      status: null,
      error: "No trusted TLS connection could be made (DEPTH_ZERO_SELF_SIGNED_CERT).",
    });
    expect(target.requests).toHaveLength(0);
  });

  test("fails by a certificate for another name", async () => {
    const target = await respond(204, { tls: true });
    const result = await sender({ ca: certificate }).send(delivery(`https://other.test:${target.port}/`));
    expect(result).toMatchObject({ class: "tls", error: "The certificate is not valid for this host name." });
    expect(target.requests).toHaveLength(0);
  });

  test("fails where there is none", async () => {
    const target = await respond();
    const result = await sender().send(delivery(`https://hook.test:${target.port}/`));
    expect(result).toMatchObject({ class: "tls", status: null });
    expect(target.requests).toHaveLength(0);
  });

  test("fails at once where the other side closes instead", async () => {
    for (const how of ["end", "resetAndDestroy"] as const) {
      const target = await rawReceiver((socket) => socket[how]());
      const result = await sender().send(delivery(`https://hook.test:${target.port}/`));
      expect(["reset", "tls"]).toContain(result.class);
      expect(target.connections).toHaveLength(1);
    }
  });

  test("is tried with the next address too", async () => {
    const target = await respond(204, { tls: true });
    const resolve = resolveTo("::1", "127.0.0.1");
    expect(await sender({ resolve, ca: certificate }).send(delivery(target.url))).toMatchObject({
      class: "ok",
    });
  });

  test("is closed too when the receiver answered without reading the request", async () => {
    const sockets: Socket[] = [];
    const target = await rawReceiver(
      (socket, count) => {
        if (count > 1) return;
        sockets.push(socket.pause());
        socket.write("HTTP/1.1 413 Content Too Large\r\ncontent-length: 0\r\n\r\n");
      },
      { tls: true },
    );
    const large = new Uint8Array(30_000_000);
    const result = await sender({ ca: certificate }).send({ ...delivery(target.url), body: large });
    expect(result).toMatchObject({ class: "status", status: 413 });
    sockets[0]?.resume();
    await target.connections[0]?.closed;
  });

  test("fails in time where the other side says nothing", async () => {
    const target = await rawReceiver(() => {});
    expect(
      await sender({ timeoutMs: 300 }).send(delivery(`https://hook.test:${target.port}/`)),
    ).toMatchObject({
      class: "timeout",
      error: "The time of 0.3 s was over while agreeing on encryption.",
    });
    await target.connections[0]?.closed;
  });

  test("is not spoken to by plain http", async () => {
    const target = await respond(204, { tls: true });
    const { class: kind } = await sender().send(delivery(`http://hook.test:${target.port}/`));
    expect(["reset", "protocol"]).toContain(kind);
    expect(target.requests).toHaveLength(0);
  });
});

describe("addresses that are not public", () => {
  test("are not called by any notation, and http is not at all", async () => {
    const target = await respond(200, { tls: true });
    const one = sender({ allowPrivate: false, ca: certificate, resolve: undefined });
    const hosts = [
      "127.0.0.1",
      "127.1",
      "0x7f.1",
      "0177.0.0.1",
      "2130706433",
      "0",
      "[::1]",
      "[::ffff:127.0.0.1]",
      "[::ffff:7f00:1]",
      "localhost",
      "hook.localhost",
    ];
    for (const url of [
      ...hosts.map((host) => `https://${host}:${target.port}/`),
      `http://hook.test:${target.port}/`,
      "file:///etc/passwd",
      "nonsense",
    ]) {
      const result = await one.send(delivery(url));
      expect({ url, ...result }).toMatchObject({ url, class: "blocked", status: null, durationMs: 0 });
    }
    expect(target.connections).toHaveLength(0);
  });

  test("are not called by a name that resolves to one, alone or among others", async () => {
    const target = await respond(200, { tls: true });
    for (const answer of [
      ["127.0.0.1"],
      ["::ffff:127.0.0.1"],
      ["2000::1", "127.0.0.1"],
      ["10.0.0.1", "::1"],
    ]) {
      const { resolve, asked } = resolveInTurn(answer);
      const result = await sender({ allowPrivate: false, ca: certificate, resolve }).send(
        delivery(target.url),
      );
      expect(result).toMatchObject({
        class: "blocked",
        status: null,
        error: "The host name resolves to an address that is not public.",
      });
      expect(asked).toEqual(["hook.test"]);
    }
    expect(target.connections).toHaveLength(0);
  });

  test("are not called by a name that was public the last time", async () => {
    const target = await respond(200, { tls: true });
    // Within global unicast, and given to nobody: it is tried, and nobody is there.
    const { resolve, asked } = resolveInTurn(["2000::1"], ["127.0.0.1"]);
    const one = sender({ allowPrivate: false, ca: certificate, resolve, timeoutMs: 100 });
    const first = await one.send(delivery(target.url));
    expect(["unreachable", "refused", "timeout"]).toContain(first.class);
    expect(await one.send(delivery(target.url))).toMatchObject({ class: "blocked" });
    expect(asked).toHaveLength(2);
    expect(target.connections).toHaveLength(0);
  });

  test("the name is resolved once for a connection: what was judged is what is called", async () => {
    const target = await respond();
    const { resolve, asked } = resolveInTurn(["127.0.0.1"], ["192.0.2.1"]);
    const one = sender({ resolve });
    for (let attempt = 1; attempt <= 3; attempt++) {
      expect(await one.send(delivery(target.url))).toMatchObject({ class: "ok" });
    }
    expect(asked).toHaveLength(1);
  });
});
