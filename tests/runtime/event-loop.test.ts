import { expect, test } from "bun:test";
import { batchedPerTick, endOfTick, TimeSlice } from "../../src/runtime/event-loop.ts";

test("work that asks whether its slice is over lets everybody else have turns", async () => {
  let turns = 0;
  let isDone = false;
  const others = () => {
    turns++;
    if (!isDone) setImmediate(others);
  };
  setImmediate(others);
  const slice = new TimeSlice();
  let breaks = 0;
  while (breaks < 10) {
    if (!slice.isOver) continue;
    breaks++;
    await slice.next();
  }
  isDone = true;
  expect(turns).toBeGreaterThanOrEqual(breaks);
});

test("items of one tick are handled together, and those that come meanwhile in the next", async () => {
  const handled: string[][] = [];
  const add = batchedPerTick<string>((items) => {
    handled.push(items);
    if (items.includes("a")) add("c");
  });
  add("a");
  await Promise.resolve();
  add("b");
  await endOfTick();
  await endOfTick();
  expect(handled).toEqual([["a", "b"], ["c"]]);
});

test("those that wait for each tick's end, one after the other, hold up neither timers nor sockets", async () => {
  using server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("here") });
  let isDone = false;
  const busy = (async () => {
    while (!isDone) await endOfTick();
  })();
  await Bun.sleep(1);
  expect(await (await fetch(server.url)).text()).toBe("here");
  isDone = true;
  await busy;
});
