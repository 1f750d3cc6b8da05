import { describe, expect, test } from "bun:test";
import { Cursors } from "../../src/http/cursors.ts";
import { event, publish, subscribe } from "../support/publishing.ts";
import { categories, users } from "../support/real-data.ts";
import { json, ownDirectory, ownServer, type TestServer } from "../support/server.ts";

const cursors = new Cursors("key");
const id = "01KATHZX5M9S3E6R8B2D4F7G1H";

describe("a cursor", () => {
  test("is URL-safe, fits into 200 characters with the largest numbers there are, and gives its position back", () => {
    const largest = Number.MAX_SAFE_INTEGER;
    for (const position of [[], [0], [1, 2, 3], [largest, largest * 1e9, largest], [id], [id, -1.5]]) {
      const cursor = cursors.make(position, "x".repeat(1_000));
      expect(cursor).toMatch(/^[A-Za-z0-9_-]{1,200}$/);
      expect(cursors.read(cursor)?.position).toEqual(position);
    }
  });

  test("is the same for the same position, so that a page keeps its ETag, and after a restart", () => {
    expect(new Cursors("key").make([1, 2], "list")).toBe(cursors.make([1, 2], "list"));
    expect(cursors.make([1, 3], "list")).not.toBe(cursors.make([1, 2], "list"));
  });

  test("is for its own filter alone", () => {
    const cursor = cursors.make([7], "deliveries of one");
    expect(cursors.read(cursor)?.isFor("deliveries of one")).toBe(true);
    for (const filter of ["deliveries of another", "deliveries of on", ""]) {
      expect(cursors.read(cursor)?.isFor(filter)).toBe(false);
    }
  });

  test("tells nothing: neither the number nor how many digits it has, nor that the next one is near", () => {
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

  test("of another key, changed in one character, cut off or spelt in another way is none", () => {
    const cursor = cursors.make([1, 2, 3], "list");
    expect(new Cursors("other").read(cursor)).toBeNull();
    for (let i = 0; i < cursor.length; i++) {
      const other = cursor[i] === "A" ? "B" : "A";
      expect(cursors.read(cursor.slice(0, i) + other + cursor.slice(i + 1))).toBeNull();
      expect(cursors.read(cursor.slice(0, i))).toBeNull();
    }
    for (const wrong of [`${cursor}=`, `${cursor}A`, ` ${cursor}`, cursor.repeat(3), "x", "A".repeat(200)]) {
      expect(cursors.read(wrong)).toBeNull();
    }
  });
});

describe("the lists", () => {
  let server: TestServer;

  interface Page {
    readonly code?: string;
    readonly pagination: { readonly cursor: string; readonly has_more: boolean };
  }
  const get = async (path: string, token: string | null) => {
    const answer = token === null ? await server.admin("GET", path) : await server.get(path, token);
    return { status: answer.status, ...(await json<Page>(answer)) };
  };

  test("take their own cursors, also after a restart, and refuse those of every other list", async () => {
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
      }
    }
  });
});
