import { expect, test } from "bun:test";
import { Fifo } from "../../src/webhooks/queues/fifo.ts";

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

test.each([0, 1, 2, 255, 256, 257, 1_000, 5_000])(
  "what goes in comes out in its order: %p items",
  (count) => {
    const fifo = new Fifo<number>();
    const seen: number[] = [];
    // Two in, one out, and then the rest.
    for (let i = 0; i < count; i++) {
      fifo.push(i);
      if (i % 2 === 1) seen.push(fifo.shift() ?? Number.NaN);
    }
    expect(fifo.length).toBe(count - seen.length);
    expect(fifo.items()).toEqual(range(seen.length, count));
    while (fifo.length > 0) seen.push(fifo.shift() ?? Number.NaN);
    expect(seen).toEqual(range(0, count));
    expect(fifo.shift()).toBeUndefined();
    expect(fifo.items()).toEqual([]);
  },
);

test("others can be put in place of all", () => {
  const fifo = new Fifo<number>();
  for (const item of range(0, 10)) fifo.push(item);
  fifo.shift();
  fifo.replace([7, 8]);
  fifo.push(9);
  expect([fifo.length, fifo.shift(), fifo.items()]).toEqual([3, 7, [8, 9]]);
});

test("what has come out is not kept, although others are still in", () => {
  const fifo = new Fifo<object>();
  const refs = range(0, 200).map((i) => {
    const item = { i };
    fifo.push(item);
    return new WeakRef(item);
  });
  for (let i = 0; i < 150; i++) fifo.shift();
  Bun.gc(true);
  const kept = refs.filter((ref) => ref.deref() !== undefined).length;
  // Something on the stack may still be taken for a reference.
  expect(kept).toBeWithin(50, 60);
});
