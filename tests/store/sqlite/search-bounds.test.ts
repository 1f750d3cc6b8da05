import { afterAll, beforeAll, expect, test } from "bun:test";
import { userFrom } from "../../../src/domain/users.ts";
import { startServer, type TestServer } from "../../support/server.ts";

/*
 * The worst names for the index: those that have all trigrams of a query without containing it, and two groups of which
 * each has one of two trigrams that follow each other.
 */
const few = 30_000;
const many = 120_000;
const at = "2026-01-01T00:00:00Z";
const servers: TestServer[] = [];

beforeAll(async () => {
  for (const count of [few, many]) {
    const server = await startServer();
    servers.push(server);
    for (let from = 1; from <= count; from += 5_000) {
      const users = Array.from({ length: 5_000 }, (_, k) => {
        const id = from + k;
        const digits = id.toString(36);
        const username = [`abcxbcd_${digits}`, `pqry_${digits}`, `qrsy_${digits}`][id % 3] ?? "";
        return userFrom({ id, username, followers_count: id % 10 === 0 ? id : 0 });
      });
      await server.app.store.users.upsert(users, at);
    }
    // Users whose names contain the query: the most popular and the least popular one.
    const found = [
      { id: count + 1, username: "the_abcd_one", followers_count: 10 ** 9 },
      { id: count + 2, username: "one_more_abcd", followers_count: 0 },
      { id: count + 3, username: "abcd", followers_count: 0 },
    ];
    await server.app.store.users.upsert(found.map(userFrom), at);
  }
}, 120_000);
afterAll(async () => {
  for (const server of servers) await server.stop();
});

async function msOf(search: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await search();
  return performance.now() - startedAt;
}

test("a search among names that have all its trigrams but do not contain it takes no longer among more of them", async () => {
  for (const { app } of servers) {
    const { users, isComplete } = await app.store.users.search("abcd", 25);
    // Found before the search is cut off: the exact name, by its own index, and the most popular one.
    expect(users.map(({ username }) => username)).toEqual(["abcd", "the_abcd_one"]);
    expect(isComplete).toBe(false);
  }
  // The best of the runs is what a search itself takes; on a busy machine it takes many to see it.
  const best = servers.map(() => Number.POSITIVE_INFINITY);
  const isBounded = () => (best[1] ?? 0) < 2 * (best[0] ?? 0) + 5;
  for (let run = 0; run < 7 || (run < 1_000 && !isBounded()); run++) {
    for (const [i, { app }] of servers.entries())
      best[i] = Math.min(best[i] ?? 0, await msOf(() => app.store.users.search("abcd", 25)));
  }
  // Among four times as many of them.
  expect(isBounded()).toBe(true);
});

test("trigrams that no name has together are searched to the end if that is cheap", async () => {
  for (const { app } of servers) {
    expect(await app.store.users.search("pqrs", 25)).toEqual({ users: [], isComplete: true });
  }
});

test("matches by their own trigrams are complete, whatever other names there are", async () => {
  for (const { app } of servers) {
    const { users, isComplete } = await app.store.users.search("one_more", 25);
    expect([users.map(({ username }) => username), isComplete]).toEqual([["one_more_abcd"], true]);
    const common = await app.store.users.search("abcxb", 25);
    expect([common.users.length, common.isComplete]).toEqual([25, true]);
  }
});

test("over HTTP a search that is cut off is 200 with the users found so far, and a header that says so", async () => {
  for (const server of servers) {
    const { token } = await server.application();
    const ask = async (query: string) => {
      const answer = await server.get(`/public/v1/users/search?query=${query}`, token);
      const { data } = (await answer.json()) as { data: { username: string }[] };
      return [
        answer.status,
        answer.headers.get("onair-search-complete"),
        data.map(({ username }) => username),
      ];
    };
    expect(await ask("abcd")).toEqual([200, "false", ["abcd", "the_abcd_one"]]);
    expect(await ask("one_more")).toEqual([200, "true", ["one_more_abcd"]]);
  }
});
