import { expect, test } from "bun:test";
import { Output } from "../../src/wire/output.ts";
import { seededRandom } from "../bench/support/random.ts";
import { nextTurn } from "../support/wire.ts";

/** Bytes on their way out: whole and in order, although all connections put theirs together in the same memory. */

/** An output, and what its sink has taken; `takes` is how much it takes of each write, in turn, and then all. */
function output(...takes: number[]) {
  const sink = {
    taken: "",
    writes: 0,
    write(bytes: Uint8Array, offset: number, length: number): number {
      this.writes++;
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

test("what nobody flushes is sent at the end of the turn, in one write for each", async () => {
  const [a, b] = [output(), output()];
  a.output.add("a1 ", null);
  b.output.add("b1 ", null);
  b.output.add("b2 ", body("b3 "));
  expect([a.sink.taken, b.sink.taken]).toEqual(["", ""]);
  await nextTurn();
  expect([a.sink.taken, b.sink.taken]).toEqual(["a1 ", "b1 b2 b3 "]);
  expect([a.sink.writes, b.sink.writes]).toEqual([1, 1]);
  b.output.add("b4", null);
  await nextTurn();
  expect([a.sink.writes, b.sink.taken]).toEqual([1, "b1 b2 b3 b4"]);
});

test("what is added while the answers of a turn are sent follows in the next one, whole", async () => {
  const [late, other] = [output(), output()];
  let isTold = false;
  const first = new Output({
    write(_bytes, _offset, length) {
      if (!isTold) late.output.add("late ", body("answer"));
      isTold = true;
      return length;
    },
  });
  first.add("first, and longer than what comes late", null);
  await nextTurn();
  other.output.add("x".repeat(100), null);
  await nextTurn();
  await nextTurn();
  expect([late.sink.taken, other.sink.taken]).toEqual(["late answer", "x".repeat(100)]);
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

test("whoever adds how much and flushes when, each has its own bytes in order", async () => {
  const random = seededRandom(8);
  const upTo = (most: number) => Math.floor(random() * most);
  const all = Array.from({ length: 5 }, () => ({
    ...output(...Array.from({ length: 40 }, () => upTo(9_000))),
    added: "",
  }));
  for (let step = 0; step < 600; step++) {
    const one = all[upTo(all.length)];
    if (!one) continue;
    const bytes = upTo(random() < 0.1 ? 300_000 : 20_000);
    const text = String.fromCharCode(97 + upTo(26)).repeat(bytes);
    one.added += `head ${step} ${text}`;
    one.output.add(`head ${step} `, random() < 0.1 && bytes === 0 ? null : body(text));
    if (random() < 0.2) one.output.flush();
    if (random() < 0.2) one.output.resume();
    if (random() < 0.1) await nextTurn();
  }
  await nextTurn();
  for (const { output: one, sink, added } of all) {
    while (one.isBlocked) one.resume();
    expect(sink.taken === added).toBe(true);
  }
});
