import { expect } from "bun:test";
import { connect } from "node:net";
import { sign } from "../../src/delivery/signature.ts";
import { newId } from "../../src/domain/ids.ts";

interface Target {
  readonly url: string;
  readonly port: number;
  readonly secret: string;
}

/**
 * Sends hostile requests to a receiver of webhooks; afterwards a genuine one must be accepted, also in chunks, and one
 * that comes twice.
 */
export async function withstands({ url, port, secret }: Target): Promise<void> {
  const send = (body: string, changes: Record<string, string> = {}, chunked = false) => {
    const timestampSeconds = Math.floor(Date.now() / 1000);
    const id = changes["webhook-id"] ?? newId();
    const headers = {
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": String(timestampSeconds),
      "webhook-signature": sign({ id, timestampSeconds, body, secrets: [secret] }),
      ...changes,
    };
    const stream = chunked ? inPieces(body) : body;
    return fetch(url, { method: "POST", headers, body: stream, signal: AbortSignal.timeout(20_000) });
  };
  // A server may close the connection at a header that is not ASCII, before its program sees the request.
  const refusal = async (changes: Record<string, string>) => {
    try {
      return (await send("{}", changes)).status;
    } catch (error) {
      const isAscii = Object.values(changes).every((value) => /^[ -~]*$/.test(value));
      if (!isAscii && (error as { code?: string }).code === "ECONNRESET") return 401;
      throw error;
    }
  };
  for (const time of ["soon", "\u00b2", "-", "1e9", "9".repeat(5_000), ""])
    expect([time.slice(0, 9), await refusal({ "webhook-timestamp": time })]).toEqual([time.slice(0, 9), 401]);
  expect(await refusal({ "webhook-signature": "v1,\u00e9 v1" })).toBe(401);
  expect((await fetch(url, { method: "POST" })).status).toBe(401);
  // Genuine, but not what a handler expects.
  for (const body of ["null", "{}", '{"type":"chat.message.sent","data":{}}']) await send(body);
  // The body breaks off.
  const { promise, resolve } = Promise.withResolvers<void>();
  const socket = connect(port, "127.0.0.1", () => {
    socket.end("POST /webhook HTTP/1.1\r\nHost: a.example\r\nContent-Length: 100\r\n\r\n{");
    socket.destroySoon();
  });
  socket.once("close", () => resolve()).on("error", () => {});
  await promise;
  const event = (content: string) =>
    JSON.stringify({
      type: "chat.message.sent",
      version: 1,
      timestamp: "2026-01-14T16:08:06.123Z",
      data: { content, sender: { username: "maya" } },
    });
  // In chunks that divide characters.
  expect((await send(event("星🎉é"), {}, true)).ok).toBe(true);
  const twice = { "webhook-id": newId() };
  for (let i = 0; i < 2; i++) expect((await send(event("Hello"), twice)).ok).toBe(true);
}

/** A body that is sent byte by byte. */
function inPieces(text: string): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  let i = 0;
  return new ReadableStream({
    async pull(controller) {
      // Each piece has a packet of its own.
      await Bun.sleep(1);
      if (i === bytes.length) controller.close();
      else controller.enqueue(bytes.subarray(i, ++i));
    },
  });
}
