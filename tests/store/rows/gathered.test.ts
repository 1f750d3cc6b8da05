import { expect, test } from "bun:test";
import { gathered } from "../../../src/store/rows/gathered.ts";

/** Finds the length of each key that is not empty, and notes what it was asked for. */
function lengths() {
  const asked: (readonly string[])[] = [];
  const find = gathered(async (keys) => {
    asked.push(keys);
    return new Map(keys.filter((key) => key !== "").map((key) => [key, key.length]));
  });
  return { asked, find };
}

test("keys of one turn are looked up together, and each call gets its own row", async () => {
  const { asked, find } = lengths();
  expect(await Promise.all(["a", "bb", "", "a"].map(find))).toEqual([1, 2, null, 1]);
  expect(asked).toEqual([["a", "bb", ""]]);
});

test("a key of a later turn is looked up again", async () => {
  const { asked, find } = lengths();
  const first = find("a");
  await Bun.sleep(0);
  expect(await Promise.all([first, find("a")])).toEqual([1, 1]);
  expect(asked).toEqual([["a"], ["a"]]);
});

test("one statement looks up 256 rows at most", async () => {
  const { asked, find } = lengths();
  const keys = Array.from({ length: 600 }, (_, i) => `${i}`);
  expect(await Promise.all(keys.map(find))).toEqual(keys.map((key) => key.length));
  expect(asked.map((batch) => batch.length)).toEqual([256, 256, 88]);
});

test("an error rejects all waiting calls, and no later one", async () => {
  let isBroken = true;
  const find = gathered(async (keys) => {
    if (isBroken) throw new Error("no connection");
    return new Map(keys.map((key) => [key, key.length]));
  });
  const answers = await Promise.allSettled(["a", "b", "a"].map(find));
  expect(answers.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  isBroken = false;
  expect(await find("a")).toBe(1);
});
