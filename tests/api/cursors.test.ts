import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { Cursors, listCursors } from "../../src/api/http/cursors.ts";
import { streamOf } from "../../src/api/stream/streams.ts";
import { holds } from "../support/property.ts";
import { event, publish, subscribe } from "../support/publishing.ts";
import { categories, users } from "../support/real-data.ts";
import { json, ownDirectory, ownServer, type TestServer } from "../support/server.ts";

const cursors = new Cursors("key");
const id = "01KATHZX5M9S3E6R8B2D4F7G1H";

const positions = fc.array(fc.oneof(fc.maxSafeInteger(), fc.stringMatching(/^[0-9A-Z]{0,26}$/)), {
  maxLength: 3,
});
const filters = fc.string({ unit: "binary", maxLength: 300 });

describe("a cursor", () => {
  test("is URL-safe, fits into 200 characters, gives its position back, and is for its own filter alone", () => {
    holds(
      fc.property(positions, filters, filters, (position, filter, other) => {
        const cursor = cursors.make(position, filter);
        expect(cursor).toMatch(/^[A-Za-z0-9_-]{1,200}$/);
        const read = cursors.read(cursor);
        expect(read?.position).toEqual(position);
        expect(read?.isFor(filter)).toBe(true);
        expect(read?.isFor(other)).toBe(other === filter);
      }),
      { numRuns: 200, examples: [[[Number.MAX_SAFE_INTEGER * 1e9, -1.5, id], "", "x".repeat(1_000)]] },
    );
  });

  test("is the same for the same position, so that a page keeps its ETag, and after a restart", () => {
    expect(new Cursors("key").make([1, 2], "list")).toBe(cursors.make([1, 2], "list"));
    expect(cursors.make([1, 3], "list")).not.toBe(cursors.make([1, 2], "list"));
  });

  test("reveals neither its number nor the digits of it, nor that two are close", () => {
    const numbers = [1, 2, 12_345, 12_346, 1_234_567_890];
    const made = numbers.map((number) => cursors.make([number], "deliveries"));
    expect(new Set(made.map(({ length }) => length)).size).toBe(1);
    for (const [i, cursor] of made.entries()) {
      const bytes = Buffer.from(cursor, "base64url");
      for (const text of [String(numbers[i]), JSON.stringify([numbers[i]])]) {
        if (text.length > 2) expect(bytes.includes(text)).toBe(false);
      }
      for (const other of made.slice(i + 1)) {
        const others = Buffer.from(other, "base64url");
        const same = bytes.filter((byte, at) => byte === others[at]).length;
        expect(same).toBeLessThan(bytes.length / 4);
      }
    }
  });

  test("of another key, changed in any bit, cut off or spelt in another way is none", () => {
    const other = new Cursors("other");
    holds(
      fc.property(positions, filters, fc.nat(), fc.nat({ max: 5 }), (position, filter, place, bit) => {
        const cursor = cursors.make(position, filter);
        expect(other.read(cursor)).toBeNull();
        const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        const at = place % cursor.length;
        const letter = letters[letters.indexOf(cursor[at] ?? "") ^ (1 << bit)] ?? "";
        expect(cursors.read(cursor.slice(0, at) + letter + cursor.slice(at + 1))).toBeNull();
        expect(cursors.read(cursor.slice(0, at))).toBeNull();
        for (const wrong of [`${cursor}=`, `${cursor}A`, ` ${cursor}`, cursor.repeat(3)]) {
          expect(cursors.read(wrong)).toBeNull();
        }
      }),
      { numRuns: 200 },
    );
    for (const wrong of ["x", "A".repeat(200)]) expect(cursors.read(wrong)).toBeNull();
  });
});

describe("the lists", () => {
  let server: TestServer;

  interface Page {
    readonly code?: string;
    readonly errors?: readonly { readonly field: string }[];
    readonly pagination: { readonly cursor: string; readonly has_more: boolean };
  }
  const get = async (path: string, token: string | null) => {
    const answer = token === null ? await server.admin("GET", path) : await server.get(path, token);
    return { status: answer.status, ...(await json<Page>(answer)) };
  };

  test("take their own cursors, also after a restart, and refuse those of every other list, beside a bad limit, too", async () => {
    const data = ownDirectory();
    server = await ownServer({ data, users });
    await server.load("categories", categories);
    const [one, two] = [
      await server.application({ webhook_url: "http://127.0.0.1:9/hook" }),
      await server.application({ webhook_url: "http://127.0.0.1:9/hook" }),
    ];
    for (const app of [one, two]) await subscribe(server, app, ["channel.followed"]);
    await publish(server, event("channel.followed"));
    await publish(server, event("channel.followed"));
    const deliveries = "/public/v1/events/deliveries?limit=1";
    const lists: [path: string, token: string | null][] = [
      ["/public/v1/categories?limit=1", one.token],
      ["/public/v1/categories?limit=1&name=a", one.token],
      [deliveries, one.token],
      [deliveries, two.token],
      [`${deliveries}&type=channel.followed`, one.token],
      ["/admin/v1/deliveries?limit=1", null],
      ["/admin/v1/applications?limit=1", null],
    ];
    const cursors: string[] = [];
    for (const [path, token] of lists) {
      const { pagination } = await get(path, token);
      expect([path, pagination.has_more]).toEqual([path, true]);
      expect(pagination.cursor).toMatch(/^[A-Za-z0-9_-]{1,200}$/);
      cursors.push(pagination.cursor);
    }
    expect(new Set(cursors).size).toBe(lists.length);
    await server.stop();
    server = await ownServer({ data });
    for (const [i, [path, token]] of lists.entries()) {
      for (const [j, cursor] of cursors.entries()) {
        const { status, code } = await get(`${path}&cursor=${cursor}`, token);
        const expected = i === j ? [200, undefined] : [400, "invalid_cursor"];
        expect([path, j, status, code]).toEqual([path, j, ...expected]);
        const beside = await get(`${path.replace("limit=1", "limit=x")}&cursor=${cursor}`, token);
        const named = beside.errors?.map(({ field }) => field).sort();
        const wrong = i === j ? ["limit"] : ["cursor", "limit"];
        expect([path, j, beside.code, named]).toEqual([path, j, "invalid_parameter", wrong]);
      }
    }
  });
});

test("a cursor of a list names the application and the user, and an id of the event stream also the shard", () => {
  const ofUser = { applicationId: id, userId: 1001, scopes: [], expiresAt: 0 };
  const listed = listCursors(cursors, "deliveries").make([1], { limit: 5 }, ofUser);
  expect(listed).toBe(cursors.make([1], `deliveries [{},["${id}",1001]]`));
  expect(streamOf({ applicationId: id, userId: null, shard: null })).toBe(`stream ${id} all`);
  expect(streamOf({ applicationId: id, userId: 1001, shard: null })).toBe(`stream ${id} 1001`);
  expect(streamOf({ applicationId: id, userId: null, shard: { number: 2, count: 8 } })).toBe(
    `stream ${id} all 2/8`,
  );
});
