import { describe, expect, test } from "bun:test";
import { bytesReceiver, delivery, rawReceiver, receiver, respond, sender } from "../fixtures/receiver.ts";

describe("the time allowed", () => {
  test("is over for a receiver that never answers, which then sees the connection closed", async () => {
    const target = await rawReceiver(() => {});
    const result = await sender({ timeoutMs: 300 }).send(delivery(target.url));
    expect(result).toMatchObject({
      class: "timeout",
      status: null,
      error: "The time limit of 0.3 s was reached while waiting for the answer.",
    });
    expect(result.durationMs).toBeGreaterThanOrEqual(299);
    await target.connections[0]?.closed;
    expect(target.requests).toHaveLength(1);
  });

  test.each([
    [200, "ok"],
    [500, "status"],
  ])("ends a body that comes drop by drop, and the %p before it stands", async (code, kind) => {
    const target = await receiver((_, response) => {
      response.writeHead(code).write("slow");
      const drip = setInterval(() => response.write("a"), 5);
      response.on("close", () => clearInterval(drip));
    });
    const result = await sender({ timeoutMs: 400 }).send(delivery(target.url));
    expect(result as object).toMatchObject({ class: kind, status: code });
    expect(result.responseBody).toStartWith("slow");
    expect(result.durationMs).toBeGreaterThanOrEqual(399);
    await target.connections[0]?.closed;
  });

  test("is each attempt's own: hundreds that hang do not delay another", async () => {
    const hanging = await rawReceiver(() => {});
    const healthy = await respond();
    const one = sender();
    const stuck = Array.from({ length: 400 }, () => one.send(delivery(hanging.url)));
    expect((await one.send(delivery(healthy.url))).class).toBe("ok");
    one.close();
    for (const result of await Promise.all(stuck)) expect(result.class).toBe("canceled");
  });
});

describe("the body of an answer", () => {
  test("of 16 KiB leaves the connection in use, a longer one does not", async () => {
    let length = 16_384;
    const target = await receiver((_, response) => response.end(Buffer.alloc(length, "x")));
    const one = sender();
    for (const connections of [1, 1, 1]) {
      expect(await one.send(delivery(target.url))).toMatchObject({ class: "ok" });
      expect(target.connections).toHaveLength(connections);
    }
    length = 16_385;
    expect(await one.send(delivery(target.url))).toMatchObject({ class: "ok" });
    await target.connections[0]?.closed;
  });

  test.each([
    ["short of its length", "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc", true],
    [
      "with a malformed chunk",
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n",
      false,
    ],
    [
      "with endless trailers",
      `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nx: ${"x".repeat(70_000)}`,
      false,
    ],
  ])("%s does not undo the status", async (_, bytes, close) => {
    const target = await bytesReceiver(bytes, { close });
    expect(await sender().send(delivery(target.url))).toMatchObject({
      class: "ok",
      status: 200,
      repeated: false,
    });
    await target.connections[0]?.closed;
  });

  test("is text: cut between characters, without NUL, whatever it was", async () => {
    const answers = ["é".repeat(4), "\0a\0", Buffer.from([0x61, 0xff, 0x62]), "🎉🎉"];
    const target = await receiver((_, response) => response.end(answers.shift()));
    const one = sender({ keepBytes: 7 });
    const texts: string[] = [];
    while (answers.length > 0) texts.push((await one.send(delivery(target.url))).responseBody);
    expect(texts).toEqual(["ééé", "\ufffda\ufffd", "a\ufffdb", "🎉"]);
  });
});

describe("an answer that is none", () => {
  test.each([
    ["garbage", "hello there\r\n\r\n", "protocol"],
    ["another protocol", "SSH-2.0-OpenSSH_9.6\r\n", "protocol"],
    [
      "a switch of protocols",
      "HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n",
      "protocol",
    ],
    ["headers beyond 16 KiB", `HTTP/1.1 200 OK\r\nx: ${"x".repeat(17_000)}\r\n\r\n`, "too_large"],
    ["headers without end", `HTTP/1.1 200 OK\r\n${"x: y\r\n".repeat(15_000)}`, "too_large"],
    [
      "interim answers without end",
      "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n".repeat(2_000),
      "too_large",
    ],
    ["nothing but blank lines", "\r\n".repeat(40_000), "too_large"],
  ])("%s", async (_, bytes, kind) => {
    const target = await bytesReceiver(bytes);
    const result = await sender().send(delivery(target.url));
    expect(result as object).toMatchObject({ class: kind, status: null, responseBody: "", repeated: false });
    expect(result.error).toBeString();
    await target.connections[0]?.closed;
  });

  test.each([
    ["a reset", (socket: { resetAndDestroy(): unknown }) => socket.resetAndDestroy()],
    ["a close", (socket: { end(): unknown }) => socket.end()],
    ["half a header", (socket: { end(bytes: string): unknown }) => socket.end("HTTP/1.1 200 OK\r\nx: ")],
  ])("%s, on a new connection, is not repeated", async (_, answer) => {
    const target = await rawReceiver(answer);
    expect(await sender().send(delivery(target.url))).toMatchObject({
      class: "reset",
      status: null,
      error: "The connection was closed while waiting for the answer.",
      repeated: false,
    });
    expect(target.requests).toHaveLength(1);
  });
});
