import { expect, test } from "bun:test";
import { groupedReads } from "../../../src/store/drizzle/users.ts";

/** Finds the length of each key that is not empty, and notes what it was asked for. */
function lengths() {
  const asked: (readonly string[])[] = [];
  const find = groupedReads(async (keys) => {
    asked.push(keys);
    return new Map(keys.filter((key) => key !== "").map((key) => [key, key.length]));
  });
  return { asked, find };
}

test("keys of the same code are looked up together, and each call gets its own row", async () => {
  const { asked, find } = lengths();
  expect(await Promise.all(["a", "bb", "", "a"].map(find))).toEqual([1, 2, null, 1]);
  expect(asked).toEqual([["a", "bb", ""]]);
});

test("a key is looked up again, even while the same lookup is under way", async () => {
  const { asked, find } = lengths();
  const first = find("a");
  await null;
  expect(asked).toEqual([["a"]]);
  expect(await Promise.all([first, find("a")])).toEqual([1, 1]);
  expect(asked).toEqual([["a"], ["a"]]);
});

test("one statement looks up 256 rows at most", async () => {
  const { asked, find } = lengths();
  const keys = Array.from({ length: 600 }, (_, i) => `${i}`);
  expect(await Promise.all(keys.map(find))).toEqual(keys.map((key) => key.length));
  expect(asked.map((batch) => batch.length)).toEqual([256, 256, 88]);
});

test("an error rejects all calls of its statement, and no other", async () => {
  const find = groupedReads(async (keys) => {
    if (keys.includes("0")) throw new Error("no connection");
    return new Map(keys.map((key) => [key, key.length]));
  });
  const keys = [...Array.from({ length: 257 }, (_, i) => `${i}`), "256", "later"];
  const answers = await Promise.allSettled(["0", ...keys].map(find));
  const rejected = answers.filter(({ status }) => status === "rejected");
  expect(rejected).toHaveLength(257); // 256 keys, one of them twice
  expect(answers.slice(-3).map((answer) => answer.status === "fulfilled" && answer.value)).toEqual([3, 3, 5]);
  expect(await find("a")).toBe(1);
});
