import { expect, test } from "bun:test";
import { nameHash } from "../../src/domain/name-hash.ts";

test.each<[string, string, boolean]>([
  ["xQc_OW-1", "xqc_ow-1", true],
  ["AZ", "az", true],
  // What is beside the letters has no other case.
  ["@", "`", false],
  ["[", "{", false],
  ["Ä", "ä", false],
  ["ab", "ba", false],
  ["a", "aa", false],
])("%s and %s have the same hash: %p", (one, other, isSame) => {
  expect(nameHash(one) === nameHash(other)).toBe(isSame);
});

test.each([
  ["lowest", (hash: number) => hash & 255],
  ["highest", (hash: number) => hash >>> 24],
])("names that are much alike are spread evenly by the %s bits", (_, bits) => {
  const counts = new Uint32Array(256);
  const names = 256 * 400;
  for (let i = 0; i < names; i++) {
    const at = bits(nameHash(`tiny_gamer${i}`));
    counts[at] = (counts[at] ?? 0) + 1;
  }
  // 400 each, and a standard deviation of 20.
  expect(Math.min(...counts)).toBeGreaterThan(300);
  expect(Math.max(...counts)).toBeLessThan(500);
});
