import { Database } from "bun:sqlite";
import { expect, onTestFinished, test } from "bun:test";
import { join } from "node:path";
import type { Store } from "../../../src/domain/store.ts";
import { userFrom } from "../../../src/domain/users.ts";
import { popularityBucket } from "../../../src/store/sqlite/matches.ts";
import { openReader, openStore } from "../../../src/store/sqlite/store.ts";
import { slowSearch } from "../../support/slow-search.ts";
import { emptyStore } from "../../support/store.ts";

const now = "2026-01-01T00:00:00Z";
const crowd = Array.from({ length: 400 }, (_, i) =>
  userFrom({ id: i + 1, username: `fan_${i % 7}of_${i}`, followers_count: (i * 37) % 600 }),
);
const crowdQueries = [
  "fan",
  "an_",
  "of_",
  "f_1",
  "fan_3",
  "3of",
  "fan_3of_1",
  "1of_1",
  "of_39",
  "zzz",
  "_of",
];

/** Fails unless the store finds what a slow search finds among the crowd. */
async function expectCrowdIn(store: Store): Promise<void> {
  for (const query of crowdQueries) {
    for (const limit of [1, 25, 100]) {
      const found = (await store.users.search(query, limit)).users.map(({ id }) => id);
      expect([query, limit, found]).toEqual([query, limit, slowSearch(crowd, query, limit)]);
    }
  }
}

async function expectCrowd(directory: string): Promise<void> {
  const store = openStore(directory);
  try {
    await expectCrowdIn(store);
  } finally {
    await store.close();
  }
}

test("a read-only connection finds all that was written before, also before the index is merged", async () => {
  const { store, path } = emptyStore();
  const reader = openReader(path);
  onTestFinished(() => reader.close());
  for (let start = 0; start < crowd.length; start += 60) {
    await store.users.upsert(crowd.slice(start, start + 60), now);
  }
  await expectCrowdIn(reader);
  // Only the second call knows that nothing has changed since the first.
  expect(await store.users.tidySearch()).toBe(false);
  expect(await store.users.tidySearch()).toBe(true);
  while (await store.users.tidySearch());
  expect(await store.users.tidySearch()).toBe(false);
  await expectCrowdIn(reader);
  await expectCrowdIn(store);
});

test("the trigram counts, lost or wrong after a crash, change no answer", async () => {
  const { store, path } = emptyStore();
  await store.users.upsert(crowd, now);
  await store.close();
  const counts = (value: number) => new Uint8Array(new Uint32Array(2 ** 16).fill(value).buffer);
  const asWritten = null;
  for (const bytes of [asWritten, counts(0), counts(2 ** 32 - 1), new Uint8Array(12)]) {
    const db = new Database(join(path, "onair.db"));
    const { changes } = db.run("UPDATE search_statistics SET trigram_counts = ifnull(?, trigram_counts)", [
      bytes,
    ]);
    db.close();
    expect(changes).toBe(1);
    await expectCrowd(path);
  }
});

test("the buckets follow the count of followers, and are one count each up to 255", () => {
  const counts = [0, 1, 2, 254, 255, 256, 300, 1_000, 1_000_000, 2 ** 40, Number.MAX_SAFE_INTEGER];
  const buckets = counts.map(popularityBucket);
  expect(buckets).toEqual(buckets.toSorted((a, b) => b - a));
  expect(new Set(Array.from({ length: 256 }, (_, count) => popularityBucket(count))).size).toBe(256);
  for (const bucket of buckets) expect(bucket >= 0 && bucket <= 1023).toBe(true);
});
