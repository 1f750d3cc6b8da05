import { describe, expect, test } from "bun:test";
import { event } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { json, ndjson, testServer } from "../support/server.ts";

const server = await testServer({ users });

describe("a batch of the platform's data", () => {
  const lines: Record<string, object[]> = {
    "POST /admin/v1/users/batch": [
      { id: 8001, username: "one", folowers_count: 5, email: "x@y.example" },
      { id: 8002, username: "two" },
      { id: 8003, username: "three", email: "x@y.example" },
    ],
    "POST /admin/v1/categories/batch": [
      { id: 8001, name: "One", slug: "one", tags: [{ id: 1, name: "a", color: "red" }, "b"], viewrs: 1 },
      { id: 8002, name: "Two", slug: "two", tags: [{ id: 3, name: "c", color: "red" }] },
    ],
    "POST /admin/v1/channels/batch": [
      { id: 8001, user_id: 1001, slug: "c-one", nmae: "x" },
      { id: 8002, user_id: 1002, slug: "c-two", naem: "x" },
      { id: 8003, user_id: 1003, slug: "c-three", nam: "x" },
    ],
    "PUT /admin/v1/livestreams": [
      { channel_id: 8001, category_id: 8001, viewers: 1, a: 1, b: null },
      { channel_id: 8002, category_id: 8001, viewers: 1, a: { b: 1, c: 2 } },
    ],
  };
  test.each(Object.entries(lines))("%s counts the fields that it ignores", async (name, rows) => {
    const [method = "", path = ""] = name.split(" ");
    const lines = `${ndjson(rows)}\n`;
    for (const atomic of [false, true]) {
      const answer = await server.admin(method, `${path}?atomic=${atomic}`, lines);
      expect(await json<object>(answer)).toEqual({
        accepted: rows.length,
        rejected: 0,
        ignored_fields: 3,
        duplicate_ids: 0,
        errors: [],
        ...(path.endsWith("livestreams") && { ended: 0 }),
      });
    }
    const refused = `${lines}{"id":"x","email":1}\n`;
    expect(await json<object>(await server.admin(method, path, refused))).toMatchObject({
      accepted: rows.length,
      rejected: 1,
      // Of lines that were taken.
      ignored_fields: 3,
      duplicate_ids: 0,
    });
  });

  test("a name that every object has is a field that is not known, too", async () => {
    const row = '{"id":8004,"username":"four","__proto__":1,"toString":2,"constructor":3}';
    expect(await json<object>(await server.admin("POST", "/admin/v1/users/batch", row))).toMatchObject({
      ignored_fields: 3,
      duplicate_ids: 0,
    });
  });

  test.each([false, true])("of events (atomic: %p) counts those beside their data", async (atomic) => {
    const name = "channel.followed";
    const lines = ndjson([event(name, { idd: "mine" }), event(name, { a: 1, b: { c: 2 } })]);
    const path = `/admin/v1/events?atomic=${atomic}`;
    expect(await json<object>(await server.admin("POST", path, lines))).toEqual({
      accepted: 2,
      rejected: 0,
      ignored_fields: 3,
      errors: [],
    });
    const refused = '{"name":"none","idd":1}\n';
    expect(await json<object>(await server.admin("POST", path, refused))).toMatchObject({
      ignored_fields: 0,
    });
  });
});
