import { describe, expect, test } from "bun:test";
import { Turns } from "../../src/webhooks/turns.ts";

/** Resolves when nothing is waiting for its turn any more. */
async function turnsOver(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise(setImmediate);
}

const plain = { isNew: () => false, mayRun: () => true };

describe("turns", () => {
  test("go round: a long backlog of one holds up no other", async () => {
    const left = new Map([
      ["long", 5],
      ["short", 2],
    ]);
    const order: string[] = [];
    const turns = new Turns<string>({
      ...plain,
      step(one) {
        const more = (left.get(one) ?? 0) - 1;
        left.set(one, more);
        order.push(one);
        return more > 0;
      },
    });
    turns.add("long");
    turns.add("short");
    turns.add("long");
    await turnsOver();
    expect(order).toEqual(["long", "short", "long", "short", "long", "long", "long"]);
  });

  test("let the event loop go on after some milliseconds", async () => {
    let steps = 0;
    const turns = new Turns<string>({
      ...plain,
      step() {
        const until = performance.now() + 3;
        while (performance.now() < until);
        return ++steps < 10;
      },
    });
    turns.add("one");
    let others = 0;
    while (steps < 10) {
      await new Promise(setImmediate);
      others++;
    }
    expect(others).toBeGreaterThan(2);
  });

  test("wait while they may not run, and go on where they were", async () => {
    let may = false;
    const ran: string[] = [];
    const turns = new Turns<string>({
      isNew: () => false,
      step(one) {
        ran.push(one);
        return false;
      },
      mayRun: () => may,
    });
    turns.add("a");
    turns.add("b");
    await turnsOver();
    expect(ran).toEqual([]);
    may = true;
    turns.resume();
    await turnsOver();
    expect(ran).toEqual(["a", "b"]);
  });

  test("are given to someone with something new at the latest after one other, however many others there are", async () => {
    const order: string[] = [];
    const news = new Set<string>();
    const turns = new Turns<string>({
      isNew: (one) => news.has(one),
      mayRun: () => true,
      step(one) {
        order.push(one);
        news.delete(one);
        return false;
      },
    });
    for (let i = 0; i < 100; i++) turns.add(`old ${i}`);
    news.add("old 50");
    news.add("new");
    turns.add("old 50");
    turns.add("new");
    await turnsOver();
    expect(order.indexOf("old 50")).toBeLessThan(3);
    expect(order.indexOf("new")).toBeLessThan(5);
    expect(order.length).toBe(101);
  });
});
