import { expect, test } from "bun:test";
import { Output } from "../../src/wire/output.ts";

/** Bytes on their way out: whole and in order, although all connections put theirs together in the same memory. */

/** An output, and what its sink has taken; `takes` is how much it takes of each write, in turn, and then all. */
function output(...takes: number[]) {
  const sink = {
    taken: "",
    write(bytes: Uint8Array, offset: number, length: number): number {
      const count = Math.min(length, takes.shift() ?? length);
      if (count > 0) this.taken += Buffer.from(bytes.subarray(offset, offset + count)).toString("latin1");
      return count;
    },
  };
  return { sink, output: new Output(sink) };
}

const body = (text: string) => Buffer.from(text);

test("what is added is sent by flush, at once", () => {
  const { sink, output: one } = output();
  one.add("head ", body("body "));
  one.add("\xe9 ", null);
  expect(sink.taken).toBe("");
  one.flush();
  expect(sink.taken).toBe("head body \xe9 ");
  one.flush();
  expect(sink.taken).toBe("head body \xe9 ");
});

test("what one has not flushed yet is not lost to another one", () => {
  const [a, b] = [output(), output(3)];
  a.output.add("a1 ", null);
  b.output.add("b1 ", null);
  a.output.add("a2 ", null);
  b.output.flush();
  a.output.flush();
  b.output.add("b2 ", null);
  a.output.add("a3 ", null);
  b.output.flush();
  a.output.flush();
  expect([a.sink.taken, b.sink.taken]).toEqual(["a1 a2 a3 ", "b1 b2 "]);
});

test("what is added behind what waits waits, too, whatever the sink would take by now", () => {
  const { sink, output: one } = output(2);
  one.add("first ", null);
  one.flush();
  one.add("second ", body("x".repeat(300_000)));
  one.flush();
  one.add("third", null);
  one.flush();
  expect([sink.taken, one.isBlocked]).toEqual(["fi", true]);
  one.resume();
  expect(sink.taken).toBe(`first second ${"x".repeat(300_000)}third`);
  expect(one.isBlocked).toBe(false);
});

test("`resume` tells how much was taken, and a closed sink takes nothing", () => {
  const { sink, output: one } = output(0, 2, -1, 3);
  one.add("12345678", null);
  one.flush();
  expect([one.resume(), one.resume(), one.resume(), one.resume()]).toEqual([2, 0, 3, 3]);
  expect(sink.taken).toBe("12345678");
  expect(one.isBroken).toBe(true);
});

test("what waits is not what others put together meanwhile", () => {
  const [a, b] = [output(1), output()];
  a.output.add("aaaa", null);
  a.output.flush();
  b.output.add("bbbb", null);
  b.output.flush();
  a.output.resume();
  expect(a.sink.taken).toBe("aaaa");
});
