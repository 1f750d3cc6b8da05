import { expect, test } from "bun:test";
import { Arrivals } from "../../src/wire/arrivals.ts";
import type { Connection } from "../../src/wire/connection.ts";

/** Connections that note what they receive; one whose name is "broken" throws. */
function noting() {
  const heard: string[] = [];
  const connection = (name: string) =>
    ({
      received(bytes: Buffer) {
        heard.push(`${name} ${bytes.length < 100 ? bytes : bytes.length}`);
        if (name === "broken") throw new Error("out of memory");
      },
      close: () => heard.push(`${name} closed`),
    }) as unknown as Connection;
  return { heard, connection };
}
const endOfTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

test("what a turn brings is read at its end, in the order in which it came", async () => {
  const { heard, connection } = noting();
  const arrivals = new Arrivals();
  const [one, other] = [connection("one"), connection("other")];
  arrivals.add(one, Buffer.from("a"));
  arrivals.add(other, Buffer.from("b"));
  arrivals.add(one, Buffer.from("c"));
  expect(heard).toEqual([]);
  await endOfTurn();
  expect(heard).toEqual(["one a", "other b", "one c"]);
  arrivals.add(other, Buffer.from("d"));
  await endOfTurn();
  expect(heard.at(-1)).toBe("other d");
});

test("what is asked for before the end of the turn is read once", async () => {
  const { heard, connection } = noting();
  const arrivals = new Arrivals();
  arrivals.add(connection("one"), Buffer.from("a"));
  arrivals.read();
  expect(heard).toEqual(["one a"]);
  await endOfTurn();
  expect(heard).toEqual(["one a"]);
});

test("more than 64 KB is read at once, so that no connection is read on that should wait", () => {
  const { heard, connection } = noting();
  const arrivals = new Arrivals();
  arrivals.add(connection("one"), Buffer.alloc(64 * 1024));
  expect(heard).toEqual([]);
  arrivals.add(connection("other"), Buffer.alloc(1));
  expect(heard).toEqual(["one 65536", "other \0"]);
});

test("a connection that cannot take what came is closed, and the others get theirs", async () => {
  const { heard, connection } = noting();
  const arrivals = new Arrivals();
  arrivals.add(connection("broken"), Buffer.from("a"));
  arrivals.add(connection("other"), Buffer.from("b"));
  await endOfTurn();
  expect(heard).toEqual(["broken a", "broken closed", "other b"]);
});
