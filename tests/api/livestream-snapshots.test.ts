import { describe, expect, test } from "bun:test";
import { errorOf } from "../support/errors.ts";
import { metric } from "../support/metrics.ts";
import { RawClient } from "../support/raw-client.ts";
import {
  adminKey,
  category,
  channel,
  json,
  live,
  ndjson,
  ownServer,
  refusal,
  type TestServer,
  testServer,
  user,
} from "../support/server.ts";
import { until } from "../support/until.ts";

const upTo = (last: number) => Array.from({ length: last }, (_, i) => i + 1);

/** Loads the channels 1 to 40. */
async function loaded(server: TestServer): Promise<TestServer> {
  await server.load(
    "users",
    upTo(40).map((id) => user(id)),
  );
  await server.load("categories", [category(5)]);
  await server.load(
    "channels",
    upTo(40).map((id) => channel(id)),
  );
  return server;
}

let server: TestServer;
const usual = await loaded(await testServer());
/** Has the first `count` channels live, and no other. */
async function start(count: number, on = usual): Promise<void> {
  server = on;
  expect((await put("&confirm=true", lives(1, count))).status).toBe(200);
}

const lives = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, i) => live(first + i, 5, 1));

const put = (query: string, rows: readonly unknown[]) =>
  server.admin("PUT", `/admin/v1/livestreams?snapshot=true${query}`, ndjson(rows));
const liveNow = async () => {
  const text = await (await server.admin("GET", "/admin/v1/livestreams")).text();
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line).channel_id);
};
describe.each(["", "&atomic=true"])("a snapshot%s", (query) => {
  test.each<[string, string[]]>([
    ["without a line", []],
    ["of blank lines", ["", "  ", ""]],
    ["without a valid line", ["nonsense", '{"channel_id": "x"}']],
    ["whose lines name unknown channels", ndjson([live(98, 5, 1), live(99, 5, 1)]).split("\n")],
  ])("%s is refused and changes nothing", async (_, rows) => {
    await start(3);
    expect(await refusal(put(`${query}&confirm=true`, rows))).toEqual([400, "empty_snapshot"]);
    expect(await liveNow()).toEqual([1, 2, 3]);
  });

  // What is live before, what the snapshot names, and whether it is taken.
  test.each<[string, number, object[], boolean]>([
    ["ends half of 20", 20, lives(1, 10), true],
    ["ends more than half of 20", 20, lives(1, 9), false],
    ["ends all but one of 19", 19, lives(1, 1), true],
    ["replaces all of 20 by others", 20, lives(21, 40), false],
    ["starts many more", 10, lives(10, 40), true],
  ])("that %s", async (_, before, rows, isTaken) => {
    await start(before);
    const named = new Set(rows.map((row) => (row as { channel_id: number }).channel_id));
    const ended = upTo(before).filter((id) => !named.has(id)).length;
    const taken = {
      accepted: rows.length,
      rejected: 0,
      ignored_fields: 0,
      duplicate_ids: 0,
      errors: [],
      ended,
    };
    if (!isTaken) {
      expect(await refusal(put(query, rows))).toEqual([409, "confirmation_required"]);
      const stored = query === "" ? [...named] : [];
      expect(await liveNow()).toEqual([...new Set([...upTo(before), ...stored])].sort((a, b) => a - b));
      await start(before);
    }
    expect(await json<object>(await put(`${query}&confirm=${!isTaken}`, rows))).toEqual(taken);
    expect(await liveNow()).toEqual([...named]);
  });
});

test("the refusal names the counts and the refused lines", async () => {
  await start(40);
  const error = await errorOf(await put("", [live(1, 5, 2), "nonsense", live(2, 6, 1)]));
  expect(error.message).toBe(
    "The snapshot would end 38 of 40 livestreams, more than 50 %, so it has ended none. If it is complete, send it again with confirm=true. Its valid lines (1) are stored.",
  );
  expect(error.errors).toEqual([
    { in: "body", field: "line 2", message: "The line is not valid JSON" },
    {
      in: "body",
      field: "line 3",
      message: "category_id 6 is not a known category: import categories first",
    },
  ]);
});

test("a livestream on a refused line goes on, if the line names its channel", async () => {
  await start(3);
  const report = await json<object>(await put("", [live(1, 5, 2), live(2, 6, 1), live(3, 5, -1)]));
  expect(report).toMatchObject({ accepted: 1, rejected: 2, ended: 0 });
  expect(await liveNow()).toEqual([1, 2, 3]);
});

test.each([
  ["0", 0, 1, true],
  ["10", 20, 17, false],
  ["10", 20, 18, true],
])("with --confirm-snapshot-above %s", async (percent, _, named, isTaken) => {
  await start(20, await loaded(await ownServer({ args: ["--confirm-snapshot-above", percent] })));
  expect((await put("", lives(1, named))).status).toBe(isTaken ? 200 : 409);
  expect(await liveNow()).toEqual(upTo(isTaken ? named : 20));
});

describe("a snapshot whose connection ends early ends nothing", () => {
  const body = `${JSON.stringify(live(1, 5, 2))}\n`;
  const chunk = `${body.length.toString(16)}\r\n${body}\r\n`;

  test.each<[string, string, string, "end" | "half" | "reset"]>([
    ["closed within its length", `Content-Length: ${2 * body.length}`, body, "end"],
    ["half-closed within its length", `Content-Length: ${2 * body.length}`, body, "half"],
    ["closed without the last chunk", "Transfer-Encoding: chunked", chunk, "end"],
    ["half-closed without the last chunk", "Transfer-Encoding: chunked", chunk, "half"],
    ["reset without the last chunk", "Transfer-Encoding: chunked", chunk, "reset"],
    ["half-closed within a chunk", "Transfer-Encoding: chunked", chunk.slice(0, -4), "half"],
  ])("%s", async (_, length, sent, how) => {
    await start(19);
    const before = await broken();
    const head = [
      "PUT /admin/v1/livestreams?snapshot=true&confirm=true HTTP/1.1",
      "Host: localhost",
      `Authorization: Bearer ${adminKey}`,
      "Content-Type: application/x-ndjson",
      "Expect: 100-continue",
      length,
    ];
    const client = new RawClient(server.adminUrl).send(`${head.join("\r\n")}\r\n\r\n`);
    await until(() => client.text.startsWith("HTTP/1.1 100 "));
    client.send(sent);
    if (how === "end") client.socket.destroy();
    else if (how === "half") client.socket.end();
    else client.reset();
    await until(async () => (await broken()) === before + 1);
    expect(await liveNow()).toEqual(upTo(19));
    client.socket.destroy();
  });

  const broken = async () =>
    (await metric(server, 'onair_http_requests_total{listener="admin",status="499"}')) || 0;
});
