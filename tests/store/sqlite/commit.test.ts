import { Database } from "bun:sqlite";
import { beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import { DomainError } from "../../../src/domain/errors.ts";
import { type Commit, groupCommit } from "../../../src/store/sqlite/commit.ts";
import { afterThisTest } from "../../support/after-tests.ts";
import { ownDirectory } from "../../support/server.ts";

let directory: string;
let db: Database;
let commit: Commit;
beforeEach(() => {
  directory = ownDirectory();
  db = new Database(join(directory, "test.db"));
  db.run("PRAGMA journal_mode = WAL");
  db.run("CREATE TABLE t (n INTEGER PRIMARY KEY, text TEXT)");
  commit = groupCommit(db);
  afterThisTest(() => db.close());
});

const insert =
  (n: number, text = "") =>
  () =>
    db.run("INSERT INTO t VALUES (?, ?)", [n, text]);
const rows = () =>
  db
    .query<{ n: number }, []>("SELECT n FROM t ORDER BY n")
    .all()
    .map(({ n }) => n);

test("work of one moment shares a transaction, and sees the changes of earlier work", async () => {
  const seen = await Promise.all([
    commit(insert(1)).then(() => "first"),
    commit(() => {
      expect(rows()).toEqual([1]);
      expect(db.inTransaction).toBe(true);
      return "second";
    }),
  ]);
  expect(seen).toEqual(["first", "second"]);
});

test("a piece that throws is undone and rejected alone", async () => {
  const results = await Promise.allSettled([
    commit(insert(1)),
    commit(() => {
      insert(2)();
      throw new DomainError("conflict", "no");
    }),
    commit(insert(1)),
    commit(insert(3)),
  ]);
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected", "fulfilled"]);
  expect(rows()).toEqual([1, 3]);
});

test("when the disk is full all are rejected as unavailable, nothing is half-written, and it recovers", async () => {
  const { page_count } = db.query<{ page_count: number }, []>("PRAGMA page_count").get() ?? { page_count: 0 };
  db.run(`PRAGMA max_page_count = ${page_count + 2}`);
  const results = await Promise.allSettled([
    commit(insert(1)),
    commit(insert(2, "x".repeat(100_000))),
    commit(insert(3)),
  ]);
  const reasons = results.map((result) => (result.status === "rejected" ? result.reason.code : "kept"));
  expect(reasons[1]).toBe("unavailable");
  expect(rows()).toEqual(reasons.flatMap((reason, i) => (reason === "kept" ? [i + 1] : [])));
  expect(db.inTransaction).toBe(false);
  db.run("PRAGMA max_page_count = 1000000");
  await commit(insert(4, "x".repeat(100_000)));
  expect(rows()).toContain(4);
});

test("a database that another process keeps locked is unavailable, not a crash", async () => {
  const other = new Database(join(directory, "test.db"));
  other.run("BEGIN IMMEDIATE");
  await expect(commit(insert(1))).rejects.toMatchObject({ code: "unavailable" });
  other.run("ROLLBACK");
  other.close();
  await commit(insert(1));
  expect(rows()).toEqual([1]);
});

test("slow work leaves the rest to later transactions, and urgent work goes before it", async () => {
  let ms = 0;
  const commitInTime = groupCommit(db, { now: () => ms });
  const order: string[] = [];
  const work = (name: string, takesMs: number, isUrgent = false) =>
    commitInTime(() => {
      order.push(name);
      ms += takesMs;
    }, isUrgent);
  const first = Array.from({ length: 6 }, (_, i) => work(`${i}`, 6));
  await first[0];
  expect(order).toEqual(["0", "1"]);
  await Promise.all([...first, work("urgent", 50, true)]);
  // The other work goes on after the urgent one.
  expect(order).toEqual(["0", "1", "urgent", "2", "3", "4", "5"]);
});

test("work that other work adds is done in the next transaction", async () => {
  let given: Promise<unknown> | null = null;
  await commit(() => {
    given = commit(insert(1));
  });
  await given;
  expect(rows()).toEqual([1]);
});
