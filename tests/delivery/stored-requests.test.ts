import { expect, test } from "bun:test";
import { storingRequests } from "../../src/delivery/maintenance.ts";
import { RequestCounter, type RequestStore } from "../../src/domain/requests.ts";
import { createLog } from "../../src/runtime/log.ts";
import { ownStore, storedApplication, storedAt } from "../support/store.ts";

test("requests of many applications are stored in small commits, for which no publish waits long", async () => {
  const { store } = await ownStore();
  const counter = new RequestCounter(() => storedAt);
  const ids: string[] = [];
  for (let i = 0; i < 23; i++) ids.push(await storedApplication(store, { id: `app-${i}` }));
  const refused = { operation: "getUser", status: 404, code: "user_not_found", requestId: "r" };
  for (const applicationId of ids) counter.count({ applicationId, ...refused });
  const sizes: number[] = [];
  const counted: number[] = [];
  const requests: RequestStore = {
    ...store.requests,
    add(some, now) {
      sizes.push(some.length);
      counted.push(counter.size);
      return store.requests.add(some, now);
    },
  };
  await storingRequests(counter, { requests }, createLog("off")).run(AbortSignal.abort());
  expect(Math.max(...sizes)).toBeLessThanOrEqual(5);
  // Until its own commit, a request is read from the counter.
  expect(counted).toEqual([18, 13, 8, 3, 0]);
  for (const id of ids)
    expect((await store.requests.of(id)).hours.map(({ counts }) => counts)).toEqual([{ "getUser 404": 1 }]);
});
