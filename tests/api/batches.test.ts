import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { errorOf } from "../support/errors.ts";
import { holdsLater } from "../support/property.ts";
import { categories, channels, users } from "../support/real-data.ts";
import { adminKey, json, ndjson, testServer } from "../support/server.ts";

const server = await testServer();
const { token } = await server.application();

interface Report {
  accepted: number;
  rejected: number;
  ignored_fields?: number;
  duplicate_ids?: number;
  errors: { line: number; message: string }[];
}
const batch = async (kind: string, rows: readonly unknown[]) => {
  const response = await server.admin("POST", `/admin/v1/${kind}/batch`, ndjson(rows));
  expect(response.status).toBe(200);
  return json<Report>(response);
};

describe("batches", () => {
  test.each(["users/batch", "livestreams", "events"])(
    "%s is refused where it is compressed",
    async (path) => {
      const method = path === "livestreams" ? "PUT" : "POST";
      const response = await fetch(`${server.adminUrl}/admin/v1/${path}`, {
        method,
        headers: {
          authorization: `Bearer ${adminKey}`,
          "content-type": "application/x-ndjson",
          "content-encoding": "gzip",
        },
        body: Bun.gzipSync(ndjson([{ id: 1, username: "one" }])),
      });
      expect([response.status, (await errorOf(response)).message]).toEqual([
        415,
        "The body must be sent without Content-Encoding",
      ]);
    },
  );

  test("a bad line in the middle is refused with its number and reason, the rest is kept", async () => {
    const report = await batch("users", [
      { id: 1, username: "one" },
      '{"id": 2, "username":',
      { id: "3", username: "a b", followers_count: -1 },
      "",
      { id: 4, username: "Search" },
      { id: 5, username: "ONE" },
      { id: 2 ** 53, username: "big" },
      { id: 6, username: "six", display_name: "a\u0000b" },
      { id: 7, username: "seven\u0000" },
      "null",
      "[".repeat(10_000),
      '{"__proto__": {"x": 1}, "id": 8, "username": "eight"}',
      { id: 9, username: "nine" },
    ]);
    expect(report).toEqual({
      accepted: 3,
      rejected: 9,
      ignored_fields: 1,
      duplicate_ids: 0,
      errors: [
        { line: 2, message: "The line is not valid JSON" },
        {
          line: 3,
          message:
            "id must be an integer from 1 to 9007199254740991; username must be 1 to 64 of the characters A-Z a-z 0-9 _ -; followers_count must be an integer from 0 to 9007199254740991",
        },
        { line: 5, message: 'username "search" is reserved, because it is a path of the public API' },
        { line: 6, message: 'username "ONE" is taken by user 1' },
        { line: 7, message: "id must be an integer from 1 to 9007199254740991" },
        { line: 8, message: "display_name must be one line without control characters" },
        { line: 9, message: "username must be 1 to 64 of the characters A-Z a-z 0-9 _ -" },
        { line: 10, message: "The line must be an object" },
        { line: 11, message: "The line must not be nested more than 64 deep" },
      ],
    });
    expect((await server.get("/public/v1/users/nine", token)).status).toBe(200);
    expect((await server.get("/public/v1/users/eight", token)).status).toBe(200);
  });

  test("the same again changes nothing and is accepted", async () => {
    for (const [kind, rows] of Object.entries({ users, categories, channels })) {
      const taken = { accepted: rows.length, rejected: 0, ignored_fields: 0, duplicate_ids: 0, errors: [] };
      for (const _ of [1, 2]) expect([kind, await batch(kind, rows)]).toEqual([kind, taken]);
    }
  });

  type NumberedLine = readonly [
    number: number,
    line: string | { readonly id: number; readonly name: string },
  ];

  /** What is known after these lines, one by one, and the numbers of the refused ones. */
  function afterLines(known: ReadonlyMap<number, string>, lines: readonly NumberedLine[], isAtomic: boolean) {
    const after = new Map(known);
    const refused: number[] = [];
    const users = lines.map(([, line]) => line).filter((line) => typeof line !== "string");
    const last = new Map(users.map(({ id, name }) => [id, name.toLowerCase()]));
    const wanted = new Set(users.map(({ name }) => name.toLowerCase()));
    // All or nothing: whose name another line takes, and whose own line has another, has given it up.
    for (const [id, name] of isAtomic ? known : [])
      if ((last.get(id) ?? name.toLowerCase()) !== name.toLowerCase() && wanted.has(name.toLowerCase()))
        after.delete(id);
    for (const [number, line] of lines) {
      const isTaken = (id: number, name: string) =>
        [...after].some(([other, taken]) => other !== id && taken.toLowerCase() === name.toLowerCase());
      if (typeof line === "string" || isTaken(line.id, line.name)) refused.push(number);
      else after.set(line.id, line.name);
    }
    return { after, refused };
  }

  /** As `afterLines`, and the last line of each id is tried again, together with the others that are refused. */
  function afterRetry(known: ReadonlyMap<number, string>, lines: readonly NumberedLine[]) {
    const { after, refused } = afterLines(known, lines, false);
    const last = new Map(lines.map(([number, line]) => [typeof line === "string" ? line : line.id, number]));
    let again = lines.filter(
      ([number, line]) =>
        typeof line !== "string" && refused.includes(number) && last.get(line.id) === number,
    );
    for (;;) {
      const retried = afterLines(after, again, true);
      const taken = again.map(([number]) => number);
      if (retried.refused.length === 0)
        return { after: retried.after, refused: refused.filter((number) => !taken.includes(number)) };
      again = again.filter(([number]) => !retried.refused.includes(number));
    }
  }

  test("keep what a model keeps of any users, line by line, or nothing where it has to be all", async () => {
    let round = 0;
    const line = fc.oneof(
      {
        weight: 8,
        arbitrary: fc.record({
          id: fc.integer({ min: 1, max: 6 }),
          name: fc.constantFrom("a", "A", "b", "c", "d"),
        }),
      },
      { weight: 1, arbitrary: fc.constantFrom("", "{", "null", '{"id":1}') },
    );
    const batches = fc.array(
      fc.record({ lines: fc.array(line, { maxLength: 12 }), isAtomic: fc.boolean() }),
      {
        minLength: 1,
        maxLength: 3,
      },
    );
    await holdsLater(
      fc.asyncProperty(batches, async (batches) => {
        // Users of their own for each round.
        const base = 1_000_000 + 10 * round++;
        let known: ReadonlyMap<number, string> = new Map();
        for (const { lines, isAtomic } of batches) {
          const numbered = lines.map((line, i) => [i + 1, line] as const).filter(([, line]) => line !== "");
          const { after, refused } = isAtomic
            ? afterLines(known, numbered, true)
            : afterRetry(known, numbered);
          const rows = lines.map((line) =>
            typeof line === "string" ? line : { id: base + line.id, username: `${line.name}_${base}` },
          );
          const answer = await server.admin("POST", `/admin/v1/users/batch?atomic=${isAtomic}`, ndjson(rows));
          const report = await json<Report>(answer);
          if (!isAtomic || refused.length === 0) {
            known = after;
            expect(report.errors.map(({ line }) => line)).toEqual(refused);
            expect(report.accepted + report.rejected).toBe(lines.filter((line) => line !== "").length);
          } else {
            expect(report.accepted ?? 0).toBe(0);
          }
          for (let id = 1; id <= 6; id++) {
            const found = await server.admin("GET", `/admin/v1/users/${base + id}`);
            const { user } = await json<{ user?: { username: string } }>(found);
            const name = known.get(id);
            expect(user?.username).toBe(name === undefined ? undefined : `${name}_${base}`);
          }
        }
      }),
      { numRuns: 25 },
    );
  });

  test("names the conflict of a category, a channel and a livestream", async () => {
    expect((await batch("categories", [{ id: 70001, name: "X", slug: categories[0]?.slug }])).errors).toEqual(
      [{ line: 1, message: `slug "just-chatting" is taken by category 1` }],
    );
    expect((await batch("channels", [{ id: 70001, user_id: 5_555_555, slug: "x" }])).errors).toEqual([
      { line: 1, message: "user_id 5555555 is not a known user: import users first" },
    ]);
    expect((await batch("channels", [{ id: 70001, user_id: 1001, slug: "summit1g" }])).errors).toEqual([
      { line: 1, message: 'slug "summit1g" is taken by channel 1002' },
    ]);
    const lines = ndjson([
      { channel_id: 70001, category_id: 1, viewers: 1 },
      { channel_id: 1001, category_id: 70001, viewers: 1 },
      { channel_id: 1001, category_id: 1, viewers: -1 },
    ]);
    const live = await json<Report>(await server.admin("PUT", "/admin/v1/livestreams", lines));
    expect(live.errors).toEqual([
      { line: 1, message: "channel_id 70001 is not a known channel: import channels first" },
      { line: 2, message: "category_id 70001 is not a known category: import categories first" },
      { line: 3, message: "viewers must be an integer from 0 to 9007199254740991" },
    ]);
  });

  test("CRLF, blank lines, no last newline, a split anywhere, and invalid UTF-8", async () => {
    const text = `{"id":31,"username":"crlf"}\r\n\r\n  \n{"id":32,"username":"한글x"}\n{"id":33,"username":"last"}`;
    const bytes = new TextEncoder().encode(text);
    for (const size of [1, 7, 4096]) {
      async function* pieces() {
        for (let i = 0; i < bytes.length; i += size) yield bytes.slice(i, i + size);
      }
      const response = await fetch(`${server.adminUrl}/admin/v1/users/batch`, {
        method: "POST",
        headers: { authorization: `Bearer ${adminKey}` },
        body: pieces() as unknown as ReadableStream,
      });
      const report = await json<Report>(response);
      expect([report.accepted, report.rejected, report.errors[0]?.line]).toEqual([2, 1, 4]);
    }
    const invalid = Buffer.concat([
      Buffer.from('{"id":34,"username":"x","bio":"'),
      Buffer.from([0xff]),
      Buffer.from('"}'),
    ]);
    const response = await fetch(`${server.adminUrl}/admin/v1/users/batch`, {
      method: "POST",
      headers: { authorization: `Bearer ${adminKey}` },
      body: invalid,
    });
    expect((await json<Report>(response)).errors).toEqual([
      { line: 1, message: "The line is not valid UTF-8" },
    ]);
  });

  test("a line over the limit is refused without being kept in memory", async () => {
    const report = await batch("users", [
      `{"id":41,"username":"x","bio":"${"x".repeat(1_000_000)}"}`,
      { id: 42, username: "after" },
    ]);
    expect(report).toMatchObject({ accepted: 1, rejected: 1, errors: [{ line: 1 }] });
  });
});
