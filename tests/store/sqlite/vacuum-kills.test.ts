import { Database } from "bun:sqlite";
import { beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import { openStore } from "../../../src/store/sqlite/store.ts";
import { ownDirectory } from "../../support/server.ts";
import { loggedDeliveries, newEvent, subscriber } from "../../support/store.ts";

/* SIGKILL at random moments while the file is made smaller. More often: ONAIR_TEST_KILLS=100. */

const kills = Number(process.env["ONAIR_TEST_KILLS"] ?? 2);

let path: string;
beforeEach(async () => {
  path = ownDirectory();
  const store = openStore(path);
  await subscriber(store);
  for (const id of ["pending 1", "pending 2"]) await store.events.publish(newEvent(id), () => false);
  await store.close();
});

/**
 * Starts the program, and kills it at a random moment after its first round; returns the last round that it reported.
 */
async function kill(): Promise<number> {
  const program = join(import.meta.dir, "fixtures/vacuum-worker.ts");
  const child = Bun.spawn([process.execPath, program, path], { stdout: "pipe", stderr: "pipe" });
  const [reader, decoder] = [child.stdout.getReader(), new TextDecoder()];
  const first = await reader.read();
  if (first.done) throw new Error(await new Response(child.stderr).text());
  let told = decoder.decode(first.value);
  await Bun.sleep(Math.random() * 400);
  child.kill("SIGKILL");
  for (let part = await reader.read(); !part.done; part = await reader.read())
    told += decoder.decode(part.value);
  await child.exited;
  return Number(told.trim().split("\n").at(-1));
}

function integrity(): string | undefined {
  const db = new Database(join(path, "onair.db"), { readonly: true });
  const found = db.query<{ integrity_check: string }, []>("PRAGMA integrity_check").get();
  db.close();
  return found?.integrity_check;
}

/** The deliveries that are still pending, which may never be lost. */
async function pending(): Promise<string[]> {
  const store = openStore(path);
  const logged = await loggedDeliveries(store, { status: "pending" });
  await store.close();
  return logged.map(({ event_id }) => event_id).filter((id) => id.startsWith("pending"));
}

test("while rows are removed and free pages are given back: the database is whole, and no round is lost", async () => {
  for (let n = 0; n < kills; n++) {
    const told = await kill();
    expect(integrity()).toBe("ok");
    const db = new Database(join(path, "onair.db"), { readonly: true });
    const kept = db.query<{ value: string }, []>("SELECT value FROM settings WHERE key = 'round'").get();
    db.close();
    expect(Number(kept?.value)).toBeGreaterThanOrEqual(told);
  }
  expect(await pending()).toEqual(["pending 1", "pending 2"]);
  expect(integrity()).toBe("ok");
}, 300_000);
