import { expect, test } from "bun:test";
import { idTime, ulidPattern, ulidSource } from "../../src/domain/ids.ts";

test("ULIDs contain their time and ascend, within a millisecond and when the clock steps back", () => {
  let ms = Date.parse("2026-01-14T16:08:06.123Z");
  const next = ulidSource(() => ms);
  const ids = [next(), next()];
  expect(ids[0]).toStartWith("01KEYM79QB"); // the time part, as the `ulid` package encodes it
  expect(ids.map(idTime)).toEqual([ms, ms]);
  for (const step of [0, 1, -3_600_000, 0, 3_600_005]) {
    ms += step;
    ids.push(next(), next());
  }
  expect(ids).toEqual(ids.toSorted());
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids) expect(id).toMatch(new RegExp(ulidPattern));
});

test("100,000 of them within one millisecond are all different and ascend", () => {
  const next = ulidSource(() => 1);
  let last = "";
  for (let i = 0; i < 100_000; i++) {
    const id = next();
    if (id <= last) throw new Error(`${id} after ${last}`);
    last = id;
  }
});
