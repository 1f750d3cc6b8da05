import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync } from "node:fs";
import type { SendRequest } from "../../../src/delivery/send/send.ts";
import { openStore } from "../../../src/store/sqlite/store.ts";
import { dispatching, ok } from "../../support/dispatching.ts";
import { temporaryDirectory, testDirectory } from "../../support/server.ts";
import { subscriber } from "../../support/store.ts";

/*
 * SIGKILL at each step of a delivery: the files are copied at that moment, and another dispatcher starts on the copy.
 */

const directory = testDirectory();
const copies = new Map<string, ReturnType<typeof temporaryDirectory>>();
const sentFirst: string[] = [];

function copyAt(step: string): void {
  if (copies.has(step)) return;
  const copy = temporaryDirectory();
  copies.set(step, copy);
  // Without the lock, which the kernel releases.
  for (const file of ["onair.db", "onair.db-wal"]) cpSync(`${directory}/${file}`, `${copy.path}/${file}`);
}

beforeAll(async () => {
  const store = openStore(directory);
  await subscriber(store);
  const one = dispatching(store, {
    async send({ headers }) {
      sentFirst.push(String(headers["webhook-id"]));
      copyAt("claimed, about to be sent");
      await Bun.sleep(1);
      copyAt("sent and answered");
      return ok;
    },
  });
  const publishing = one.publish("e1");
  copyAt("before the commit");
  await publishing;
  copyAt("after the commit");
  await one.settled();
  copyAt("recorded");
  await one.stop();
  await store.close();
});
afterAll(() => {
  for (const copy of copies.values()) copy.remove();
});

describe("SIGKILL", () => {
  test.each([
    ["before the commit", 0],
    ["after the commit", 1],
    ["claimed, about to be sent", 1],
    ["sent and answered", 1],
    ["recorded", 0],
  ])("%s: the next process sends it %d times, under the same id", async (step, times) => {
    const copy = copies.get(step);
    if (!copy) throw new Error(`there is no copy of "${step}"`);
    const store = openStore(copy.path);
    const sent: SendRequest[] = [];
    const next = dispatching(store, {
      async send(request) {
        sent.push(request);
        return ok;
      },
    });
    await next.settled();
    await next.stop();
    expect(await store.deliveries.pending()).toEqual([]);
    await store.close();
    expect(sent.map(({ headers }) => headers["webhook-id"])).toEqual(sentFirst.slice(0, times));
    for (const { headers } of sent) expect(headers["onair-sequence"]).toBe("1");
  });
});
