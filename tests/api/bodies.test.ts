import { heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import { readBytes } from "../../src/api/http/input.ts";
import { until } from "../support/until.ts";

/** A request whose body comes in chunks of one byte; `end` ends it. */
function byteByByte(count: number) {
  const state = { left: count, end: () => {} };
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (state.left-- > 0) return controller.enqueue(new Uint8Array([0x61]));
      return new Promise<void>((resolve) => {
        state.end = () => {
          controller.close();
          resolve();
        };
      });
    },
  });
  return { request: new Request("http://onair.example/", { method: "POST", body }), state };
}

/** The arrays of bytes that are in use. */
function arrays(): number {
  Bun.gc(true);
  return heapStats().objectTypeCounts["Uint8Array"] ?? 0;
}

test("a body takes no more memory in chunks of one byte than in one, also before it ends", async () => {
  const count = 60_000;
  const before = arrays();
  const { request, state } = byteByByte(count);
  const reading = readBytes(request, count);
  await until(() => state.left < 0);
  expect(arrays() - before).toBeLessThan(count / 10);
  state.end();
  expect(await reading).toEqual(new Uint8Array(count).fill(0x61));
});

test("a chunked body over the limit is refused before it ends, and an empty one is empty", async () => {
  const { request } = byteByByte(100);
  await expect(readBytes(request, 99)).rejects.toThrow("The body must be at most 99 bytes");
  const empty = byteByByte(0);
  const reading = readBytes(empty.request, 99);
  await until(() => empty.state.left < 0);
  empty.state.end();
  expect((await reading).byteLength).toBe(0);
});
