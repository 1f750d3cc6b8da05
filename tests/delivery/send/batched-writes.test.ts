import { expect, test } from "bun:test";
import type { Socket } from "node:net";
import { writeInBatch } from "../../../src/delivery/send/connection.ts";

/** The part of a socket that is written to; `written` has the bytes. */
function socket(name: string, written: string[], { destroyed = false } = {}) {
  const made = { destroyed, write: (bytes: Buffer) => written.push(`${name} ${bytes}`) };
  return made as unknown as Socket & { destroyed: boolean };
}

const request = (text: string) => Buffer.from(text);

test("requests leave in their order at the end of the step, not before", async () => {
  const written: string[] = [];
  const [a, b] = [socket("a", written), socket("b", written)];
  writeInBatch(a, request("1"));
  writeInBatch(b, request("2"));
  writeInBatch(a, request("3"));
  expect(written).toEqual([]);
  await Promise.resolve();
  expect(written).toEqual(["a 1", "b 2", "a 3"]);
});

test("writes that are made while a batch is written are in the next one", async () => {
  const written: string[] = [];
  const b = socket("b", written);
  const a = { write: () => writeInBatch(b, request("2")), destroyed: false } as unknown as Socket;
  writeInBatch(a, request("1"));
  await Promise.resolve();
  expect(written).toEqual([]);
  await Promise.resolve();
  expect(written).toEqual(["b 2"]);
});

test("a socket that was closed in the same step is not written to, and holds up none of the others", async () => {
  const written: string[] = [];
  const [a, b] = [socket("a", written), socket("b", written)];
  writeInBatch(a, request("1"));
  writeInBatch(b, request("2"));
  a.destroyed = true;
  await Promise.resolve();
  expect(written).toEqual(["b 2"]);
});
