import { describe, expect, test } from "bun:test";
import { isOnPostgres, json, ndjson, ownServer, type TestServer } from "../support/server.ts";

const last = Number.MAX_SAFE_INTEGER;

interface Tagged {
  readonly id: number;
  readonly tags: readonly { readonly id: number; readonly name: string }[];
}

const category = (id: number, tags: unknown[]) => ({ id, name: `C ${id}`, slug: `c-${id}`, tags });
const put = async (server: TestServer, rows: object[] | string) => {
  const body = typeof rows === "string" ? rows : ndjson(rows);
  return json<{ accepted: number; rejected: number; errors: { message: string }[] }>(
    await server.admin("POST", "/admin/v1/categories/batch", body),
  );
};
const exported = async (server: TestServer) =>
  (await server.admin("GET", "/admin/v1/categories/batch")).text();
const rowsOf = (ndjson: string) =>
  ndjson
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Tagged);

/** Each name has one id, each id one name, and all ids are ones that JSON carries exactly. */
function idsByName(rows: readonly Tagged[]): Map<string, number> {
  const ids = new Map<string, number>();
  for (const { tags } of rows) {
    for (const { id, name } of tags) {
      expect([name, ids.get(name) ?? id]).toEqual([name, id]);
      expect(Number.isSafeInteger(id) && id > 0).toBe(true);
      ids.set(name, id);
    }
  }
  expect(new Set(ids.values()).size).toBe(ids.size);
  return ids;
}

describe("the id of a tag", () => {
  test("that On Air makes is free and in bounds, also when the platform has given the last one", async () => {
    const server = await ownServer();
    await put(server, [
      category(1, ["a", "b"]),
      category(2, [{ id: last, name: "last" }, "c"]),
      category(3, [{ id: 4, name: "four" }, "d", "e"]),
      category(4, ["f", "a", "last"]),
      category(5, [{ id: last - 1, name: "last but one" }, "g"]),
    ]);
    const ids = idsByName(rowsOf(await exported(server)));
    expect([...ids].sort()).toEqual([
      ["a", 1],
      ["b", 2],
      ["c", 3],
      ["d", 5],
      ["e", 6],
      ["f", 7],
      ["four", 4],
      ["g", 8],
      ["last but one", last - 1],
      ["last", last],
    ]);
    const shown = await json<{ category: Tagged }>(await server.get("/public/v1/categories/2"));
    expect(shown.category.tags).toEqual([
      { id: last, name: "last" },
      { id: 3, name: "c" },
    ]);
  });

  test.skipIf(isOnPostgres)("goes through an export and an import unchanged", async () => {
    const [from, to] = [await ownServer(), await ownServer()];
    await put(from, [category(1, ["x", { id: last, name: "last" }]), category(2, ["y", "x", "z"])]);
    const ndjson = await exported(from);
    expect(await put(to, ndjson)).toMatchObject({ accepted: 2, rejected: 0 });
    expect(await exported(to)).toBe(ndjson);
    expect(await put(to, [category(3, ["new"])])).toMatchObject({ rejected: 0 });
    idsByName(rowsOf(await exported(to)));
  });

  test("that is no such number is refused", async () => {
    const server = await ownServer();
    const wrong = ["9007199254740992", "9007199254740993", "1e300", "0", "-1", "1.5", '"1"', "null"];
    for (const id of wrong) {
      const line = `{"id":9,"name":"N","slug":"n","tags":[{"id":${id},"name":"out of range"}]}`;
      const { rejected, errors } = await put(server, line);
      expect([id, rejected, errors[0]?.message]).toEqual([
        id,
        1,
        expect.stringContaining("tags[0]"),
      ] as never);
      expect((await server.get("/public/v1/categories/9")).status).toBe(404);
    }
  });
});
