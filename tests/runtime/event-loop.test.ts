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

/** Notes what happens, in order. */
function notes() {
  const noted: string[] = [];
  return { noted, note: (text: string) => () => void noted.push(text) };
}

/** Lets some ticks of the event loop pass. */
const someTicks = () => Bun.sleep(5);

test("calls of one tick continue in their order, directly one after the other", async () => {
  const { noted, note } = notes();
  void endOfTick().then(note("first"));
  setImmediate(note("next immediate"));
  await Promise.resolve();
  void endOfTick().then(note("second"));
  queueMicrotask(note("rest of the tick"));
  await someTicks();
  expect(noted).toEqual(["rest of the tick", "first", "second", "next immediate"]);
});

test("a call that is made after the end of a tick waits for the end of the next", async () => {
  const { noted, note } = notes();
  void endOfTick().then(() => {
    void endOfTick().then(note("next tick"));
    queueMicrotask(note("this tick"));
  });
  setImmediate(note("immediates of this tick"));
  await someTicks();
  expect(noted).toEqual(["this tick", "immediates of this tick", "next tick"]);
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

test("all sockets that have something to read are read before the first is answered", async () => {
  const arrived: number[] = [];
  const atFirstAnswer: number[] = [];
  using server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch() {
      arrived.push(arrived.length);
      await endOfTick();
      atFirstAnswer.push(arrived.length);
      return new Response();
    },
  });
  const request = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const ended = Promise.withResolvers<void>();
  let answers = 0;
  const clients = await Promise.all(
    Array.from({ length: 8 }, () =>
      Bun.connect({
        hostname: "127.0.0.1",
        port: Number(server.port),
        socket: { data: () => void (++answers === 8 && ended.resolve()) },
      }),
    ),
  );
  await someTicks();
  for (const client of clients) client.write(request);
  await ended.promise;
  for (const client of clients) client.end();
  expect(atFirstAnswer).toEqual(Array(8).fill(8));
});
