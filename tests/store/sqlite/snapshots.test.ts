import type { Database } from "bun:sqlite";
import { expect, onTestFinished, test } from "bun:test";
import { openForReading } from "../../../src/store/sqlite/open.ts";
import { Snapshots } from "../../../src/store/sqlite/snapshots.ts";
import { openStore } from "../../../src/store/sqlite/store.ts";
import { ownDirectory } from "../../support/server.ts";

/** Snapshots of an empty store, the number of connections that they opened, and a list of what happens. */
function ownSnapshots() {
  const path = ownDirectory();
  const store = openStore(path);
  const opened: Database[] = [];
  const snapshots = new Snapshots(() => {
    opened.push(openForReading(path));
    return opened.at(-1) as Database;
  });
  onTestFinished(async () => {
    snapshots.close();
    await store.close();
  });
  const began: string[] = [];
  /** Begins a read that goes on until it is ended. */
  const read = (key: string) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const done = snapshots.during(key, async () => {
      began.push(key);
      await promise;
    });
    return {
      async end() {
        resolve();
        await done;
      },
    };
  };
  return { snapshots, store, opened, began, read };
}

const count = (db: Database) => db.query("SELECT count(*) AS n FROM settings").get();

test("a snapshot whose read fails ends, and the next one sees the current rows", async () => {
  const { snapshots, store, opened } = ownSnapshots();
  const failing = snapshots.during("a", async (db) => {
    count(db);
    throw new Error("gone wrong");
  });
  await expect(failing).rejects.toThrow("gone wrong");
  for (const key of ["a", "b", "c"]) await store.settings.put(key, "");
  expect(await snapshots.during("a", async (db) => count(db))).toEqual({ n: 3 });
  expect(opened).toHaveLength(1);
});

test("a slow read of one application delays no other one, and each sees its own moment", async () => {
  const { snapshots, store } = ownSnapshots();
  const { promise, resolve } = Promise.withResolvers<void>();
  const slow = snapshots.during("a", async (db) => {
    const before = count(db);
    await promise;
    return [before, count(db)];
  });
  await store.settings.put("a", "");
  expect(await snapshots.during("b", async (db) => count(db))).toEqual({ n: 1 });
  resolve();
  expect(await slow).toEqual([{ n: 0 }, { n: 0 }]);
});

test("applications take turns where there are more of them than connections", async () => {
  const { opened, began, read } = ownSnapshots();
  const flood = ["a", "b", "c", "d"].map((key) => Array.from({ length: 50 }, () => read(key)));
  expect(began).toEqual(["a", "b", "c", "d"]);
  const other = read("e");
  // Each of the others may get a connection before it.
  for (let i = 0; !began.includes("e"); i++) await flood[i % 4]?.shift()?.end();
  expect(began.length).toBeLessThanOrEqual(4 + 5);
  expect(opened).toHaveLength(4);
  await other.end();
  while (flood.some((reads) => reads.length > 0)) for (const reads of flood) await reads.shift()?.end();
  expect(began).toHaveLength(4 * 50 + 1);
});
