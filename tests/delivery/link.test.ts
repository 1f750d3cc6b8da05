import { expect, test } from "bun:test";
import type { EngineThread } from "../../src/delivery/thread/worker.ts";
import { Link, type LinkMessage } from "../../src/runtime/threads.ts";

interface Calculator {
  readonly memory: { add(a: number, b: number): Promise<number>; fail(): void };
  clear(): void;
  each(callback: (value: number) => void): void;
}

/** Two ends of a link. Messages are cloned, as between threads. */
function linked(calculator: object): Link<Calculator> {
  const copied = (message: LinkMessage): LinkMessage => structuredClone(message);
  const there: Link<object> = new Link(
    (message) => here.received(copied(message)),
    () => calculator,
  );
  const here = new Link<Calculator>(
    (message) => there.received(copied(message)),
    () => null,
  );
  return here;
}

test("methods of the other end are called by name, at any depth, and their results and errors are passed back", async () => {
  const { remote } = linked({
    memory: {
      add: async (a: number, b: number) => a + b,
      fail() {
        throw new Error("out of memory");
      },
    },
  });
  expect(await Promise.all([remote.memory.add(1, 2), remote.memory.add(3, 4)])).toEqual([3, 7]);
  expect(await remote.memory.fail().catch((error) => error.message)).toBe("out of memory");
});

test("a notification is a call without an answer", async () => {
  const cleared = Promise.withResolvers<void>();
  const { notify } = linked({ clear: cleared.resolve });
  expect(notify.clear()).toBeUndefined();
  await cleared.promise;
});

test("a method that the other end does not have, or not with these arguments, does not compile", () => {
  // Only compiled: each line fails `tsc` if its error is gone.
  const wrong = ({ remote }: Link<Calculator>, engine: Link<EngineThread["offers"]>) => [
    // @ts-expect-error no such method
    remote.memory.subtract(1, 2),
    // @ts-expect-error a wrong argument
    remote.memory.add(1, "2"),
    // @ts-expect-error an argument that is missing
    remote.memory.add(1),
    // @ts-expect-error a callback cannot be sent
    remote.each(() => {}),
    // @ts-expect-error no such noun of the store
    engine.remote.store.user.count(),
    // @ts-expect-error no such verb of the noun
    engine.remote.store.users.counts(),
    // @ts-expect-error a verb with a wrong argument
    engine.remote.store.users.exists("1"),
    // @ts-expect-error events are published by the engine
    engine.remote.store.events.publish,
    // @ts-expect-error an application has to be named
    engine.remote.enable(),
  ];
  expect(wrong).toBeFunction();
});
