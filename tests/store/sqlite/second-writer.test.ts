import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { copyFileSync, existsSync, readFileSync, rmSync, utimesSync } from "node:fs";
import { join } from "node:path";
import type { StorageFault } from "../../../src/domain/store.ts";
import { lockDirectory } from "../../../src/store/sqlite/directory.ts";
import { storageCheck } from "../../../src/store/sqlite/storage-check.ts";
import { openStore } from "../../../src/store/sqlite/store.ts";
import { afterThisTest } from "../../support/after-tests.ts";
import { ownProcess, run, type ServerProcess } from "../../support/process.ts";
import { event, subscriber } from "../../support/publishing.ts";
import { users } from "../../support/real-data.ts";
import { ownReceiver } from "../../support/receiver.ts";
import { ownDirectory } from "../../support/server.ts";
import { emptyStore, loggedDeliveries, newEvent, subscriber as subscriberOf } from "../../support/store.ts";
import { until } from "../../support/until.ts";

/* Two writers on one data directory: its lock was removed, or does not reach the other host. */

const noLock = { close() {} };

test("a store whose database has another writer stores nothing more, and the other one continues its numbers", async () => {
  const directory = ownDirectory();
  const faults: StorageFault[] = [];
  const first = openStore(directory, { onFault: (fault) => faults.push(fault) });
  await subscriberOf(first);
  await first.events.publish(newEvent("one"), () => false);
  const second = openStore(directory, { lock: noLock });
  await expect(first.events.publish(newEvent("lost"), () => false)).rejects.toMatchObject({
    code: "unavailable",
  });
  expect(faults).toEqual(["taken"]);
  await second.events.publish(newEvent("two"), () => false);
  await expect(first.settings.put("a", "b")).rejects.toMatchObject({ code: "unavailable" });
  const logged = await loggedDeliveries(second, {});
  expect(logged.map(({ event_id, sequence }) => [event_id, sequence]).sort()).toEqual([
    ["one", 1],
    ["two", 2],
  ]);
  await second.close();
  await first.close();
});

test("another connection that changes the database, such as an operator's shell, stops no writer", async () => {
  const directory = ownDirectory();
  const store = openStore(directory);
  const shell = new Database(join(directory, "onair.db"));
  shell.run("INSERT INTO settings (key, value) VALUES ('mine', '1')");
  shell.run("PRAGMA wal_checkpoint(TRUNCATE)");
  await store.settings.put("a", "b");
  shell.close();
  await store.close();
});

test("the files of the lock show a second process, also with the same pid, but not a changed time", () => {
  const directory = ownDirectory();
  const store = openStore(directory);
  afterThisTest(() => store.close());
  const check = storageCheck(directory);
  const later = new Date(Date.now() + 60_000);
  for (const name of ["onair.pid", "onair.lock"]) utimesSync(join(directory, name), later, later);
  expect(check(false)).toBeNull();
  rmSync(join(directory, "onair.lock"));
  expect(check(false)).toBeNull();
  lockDirectory(directory).close();
  expect(check(false)).toBe("taken");
  // As with a lock that does not reach this host, in a container whose pid is the same.
  const another = storageCheck(directory);
  const before = readFileSync(join(directory, "onair.pid"), "utf8");
  lockDirectory(directory).close();
  expect(readFileSync(join(directory, "onair.pid"), "utf8")).toBe(before);
  expect(another(false)).toBe("taken");
});

test("a second server, after the lock was removed: the first one stops and says why, and nothing is lost", async () => {
  const [data, log] = [ownDirectory(), join(ownDirectory(), "log")];
  const receiver = ownReceiver();
  const start = (own?: string) =>
    ownProcess(["--data", data, "--allow-private-webhooks"], {
      env: { ONAIR_LOG_LEVEL: "error" },
      ...(own !== undefined && { log: own }),
    });
  const first = await start(log);
  await first.load("users", users);
  await subscriber(first, {
    webhook_url: receiver.url,
    event: "channel.followed",
    broadcasters: [1001],
  });
  const acknowledged: string[] = [];
  let n = 0;
  let isOver = false;
  const publishing = async (to: ServerProcess) => {
    while (!isOver) {
      const id = `event-${++n}`;
      const answer = await to
        .admin("POST", "/admin/v1/events", event("channel.followed", { id }))
        .catch(() => null);
      if (answer?.status === 202) acknowledged.push(id);
      else if (answer === null) return;
    }
  };
  const toFirst = Promise.all([publishing(first), publishing(first)]);
  await until(() => acknowledged.length > 20);
  rmSync(join(data, "onair.lock"));
  const second = await start();
  const toSecond = Promise.all([publishing(second), publishing(second)]);
  expect(await first.exited).toBe(1);
  await toFirst;
  const before = acknowledged.length;
  await until(() => acknowledged.length > before + 20);
  isOver = true;
  await toSecond;
  const said = readFileSync(log, "utf8");
  expect(said).toContain("Another process has taken the data directory, so this server has stopped");
  expect(said).toContain('"event":"storage_taken"');
  const received = () => new Set(receiver.received.map(({ headers }) => headers["onair-event-id"]));
  await until(() => acknowledged.every((id) => received().has(id)));
  expect(await second.end("SIGTERM")).toBe(0);
  const db = new Database(join(data, "onair.db"));
  const count = (sql: string) => db.query<{ n: number }, []>(`SELECT count(*) AS n FROM ${sql}`).get()?.n;
  expect(count("(SELECT 1 FROM deliveries GROUP BY subscription_id, sequence HAVING count(*) > 1)")).toBe(0);
  expect(count("deliveries")).toBe(count("(SELECT DISTINCT event_seq FROM deliveries)"));
  db.close();
  expect(await run(["apps", "list", "--data", data])).toMatchObject({ code: 0 });
}, 60_000);

describe("what two writers have left", () => {
  /** A store that was killed after it has staged an event, and the connection that then changes its database. */
  async function killedStore() {
    const { store, path } = emptyStore();
    await subscriberOf(store);
    await store.events.publish(newEvent("staged"), () => true);
    const copy = ownDirectory();
    for (const file of ["onair.db", "onair.db-wal"]) copyFileSync(join(path, file), join(copy, file));
    const db = new Database(join(copy, "onair.db"));
    const opened = () => {
      db.close();
      const conflicts: unknown[] = [];
      const store = openStore(copy, { conflicted: (conflict) => conflicts.push(conflict) });
      afterThisTest(() => store.close());
      return { store, conflicts };
    };
    return { db, copy, opened };
  }

  test("events with numbers that others have get new ones, and are delivered", async () => {
    const { db, copy, opened } = await killedStore();
    db.run(
      `INSERT INTO deliveries (seq, id, event_seq, application_id, subscription_id, sequence, status, attempts)
       SELECT s.first_delivery, 'other', 0, d.value ->> 1, d.value ->> 2, 1, 'delivered', 1
       FROM staged_events s, json_each(s.deliveries) d`,
    );
    db.run("UPDATE subscriptions SET sequence = 1");
    const { store, conflicts } = opened();
    const file = join(copy, "onair.set-aside.ndjson");
    expect(conflicts).toEqual([{ renumbered: 1, setAside: 0, file }]);
    await store.events.publish(newEvent("next"), () => false);
    const sequences = (await loggedDeliveries(store)).map(({ event_id, sequence }) => [event_id, sequence]);
    expect(sequences.sort()).toEqual([
      ["next", 3],
      ["staged", 2],
    ]);
    expect(existsSync(file)).toBe(false);
  });

  test("an event with the id of another one is kept in a file, and the database opens", async () => {
    const { db, opened } = await killedStore();
    db.run(
      `INSERT INTO events (seq, id, name, version, broadcaster_user_id, fingerprint, first_delivery, deliveries, published_at)
       VALUES (-1, 'staged', 'channel.followed', 1, 1001, x'00', 0, 0, 0)`,
    );
    const { store, conflicts } = opened();
    expect(conflicts).toMatchObject([{ renumbered: 0, setAside: 1 }]);
    const [{ file = "" } = {}] = conflicts as { file: string }[];
    expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ id: "staged", body: expect.any(String) });
    expect((await store.events.publish(newEvent("next"), () => false)).deliveries).toBe(1);
  });

  test("an event that both have stored is stored once", async () => {
    const { db, opened } = await killedStore();
    db.run(
      `INSERT INTO events (seq, id, name, version, broadcaster_user_id, fingerprint, first_delivery, deliveries, published_at)
       SELECT -1, id, name, version, broadcaster_user_id, fingerprint, 0, 0, 0 FROM staged_events`,
    );
    const { conflicts } = opened();
    expect(conflicts).toEqual([]);
  });
});
