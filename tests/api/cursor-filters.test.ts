import { expect, test } from "bun:test";
import { Cursors, listCursors } from "../../src/api/http/cursors.ts";
import { streamOf } from "../../src/api/stream/streams.ts";
import { sealingKeyOf } from "../../src/domain/store.ts";
import { type OpenApiDocument, operations } from "../support/openapi.ts";
import { categories, users } from "../support/real-data.ts";
import { json, testServer } from "../support/server.ts";

/*
 * What cursors of an earlier version hold. A client that walks through a list while the server is upgraded goes on with
 * its cursor, so the texts below stay as they are: a change of one of them is an `invalid_cursor` for everybody.
 */

const server = await testServer({ users });
await server.load("categories", categories);
const app = await server.application();
const cursors = new Cursors(await sealingKeyOf(server.app.store));
const id = "01KATHZX5M9S3E6R8B2D4F7G1H";
const other = "01KEYN2Q9GZ4T7RFDX6M8V3BHC";
const [after, before] = ["2026-01-14T16:00:00Z", "2026-01-14T17:00:00Z"];
const grant = `["${app.id}",null]`;

test("the bytes of a cursor are settled", () => {
  expect(new Cursors("key").make([1, 2, id], "list")).toBe(
    "MMEBT0CZ5puwlEZuCYxrL52XCGY6hFf5gGT-SYT0MoqiLf07QfPjkQYC0nQZTppWzjYeKoX54MRqHcU1y_qmomJmAubJUx6B",
  );
});

/** A list with all its filters, and what its cursors are bound to. */
const lists: [listener: "public" | "admin", path: string, position: (number | string)[], filter: string][] = [
  ["public", "/public/v1/categories", [1, 2, 3], "categories "],
  ["public", "/public/v1/categories?name=Pok%C3%A9&q=x", [1, 2, 3], "categories poke"],
  ["public", "/public/v1/events/deliveries", [1], `deliveries [{},${grant}]`],
  [
    "public",
    `/public/v1/events/deliveries?before=${before}&after=${after}&type=a.b&status=failed&event_id=${id}&subscription_id=${id}`,
    [1],
    `deliveries [{"subscription_id":"${id}","event_id":"${id}","status":"failed","type":"a.b","after":"${after}","before":"${before}"},${grant}]`,
  ],
  [
    "public",
    "/public/v1/application/subscriptions?event=a.b&channel=one&broadcaster_user_id=1001",
    [id],
    `subscriptions [{"broadcaster_user_id":1001,"channel":"one","event":"a.b"},${grant}]`,
  ],
  ["public", "/public/v1/application/notices", [1], `notices [{},${grant}]`],
  [
    "admin",
    `/admin/v1/applications?id=${id},${other}&state=enabled&owner_user_id=1001&find=y&name=z`,
    [id],
    `applications [{"name":"z","find":"y","owner_user_id":1001,"state":"enabled","id":["${id}","${other}"]},null]`,
  ],
  [
    "admin",
    `/admin/v1/deliveries?before=${before}&after=${after}&type=a.b&status=failed&event_id=${id}&subscription_id=${id}&application_id=${app.id}`,
    [1],
    `deliveries [{"application_id":"${app.id}","subscription_id":"${id}","event_id":"${id}","status":"failed","type":"a.b","after":"${after}","before":"${before}"},null]`,
  ],
  [
    "admin",
    `/admin/v1/subscriptions?event=a.b&channel=one&broadcaster_user_id=1001&application_id=${app.id}`,
    [id],
    `subscriptions [{"application_id":"${app.id}","broadcaster_user_id":1001,"channel":"one","event":"a.b"},null]`,
  ],
  ["admin", "/admin/v1/endpoints", [id], "endpoints [{},null]"],
  ["admin", "/admin/v1/backups", [id], "backups [{},null]"],
  [
    "admin",
    `/admin/v1/notices?application_id=${app.id}`,
    [1],
    `notices [{"application_id":"${app.id}"},null]`,
  ],
  [
    "admin",
    `/admin/v1/audit?before=${before}&after=${after}&object_id=x&object=y&action=z&key=${id}`,
    [1],
    `audit [{"key":"${id}","action":"z","object":"y","object_id":"x","after":"${after}","before":"${before}"},null]`,
  ],
];

const ask = (listener: "public" | "admin", path: string) =>
  listener === "admin" ? server.admin("GET", path) : server.get(path, app.token);

test.each(lists)("%s %s takes a cursor of before", async (listener, path, position, filter) => {
  const cursor = cursors.make(position, filter);
  const answer = await ask(listener, `${path}${path.includes("?") ? "&" : "?"}cursor=${cursor}`);
  expect([answer.status, answer.status === 200 ? "" : await answer.text()]).toEqual([200, ""]);
});

test.each(["public", "admin"] as const)(
  "these are all lists of the %s listener, with all filters",
  async (of) => {
    const document = await json<OpenApiDocument>(await ask(of, "/openapi.json"));
    const documented = operations(document).flatMap(({ name, operation: { parameters = [] } }) => {
      const inQuery = parameters
        .filter((parameter) => parameter.in === "query")
        .map((parameter) => parameter.name);
      if (!inQuery.includes("cursor")) return [];
      const filters = inQuery.filter((parameter) => parameter !== "cursor" && parameter !== "limit");
      return [[name.replace("GET ", ""), ...filters.sort()]];
    });
    const pinned = new Map<string, string[]>();
    for (const [listener, path] of lists) {
      const { pathname, searchParams } = new URL(path, "http://server");
      if (listener === of) pinned.set(pathname, [pathname, ...[...searchParams.keys()].sort()]);
    }
    expect([...pinned.values()].sort()).toEqual(documented.sort());
  },
);

test("a list of a user's token names the user, and so does an id of the event stream", async () => {
  const ofUser = { applicationId: id, userId: 1001, scopes: [], expiresAt: 0 };
  const listed = listCursors(cursors, "deliveries").make([1], { limit: 5 }, ofUser);
  expect(listed).toBe(cursors.make([1], `deliveries [{},["${id}",1001]]`));
  expect(streamOf({ applicationId: id, userId: null, shard: null })).toBe(`stream ${id} all`);
  expect(streamOf({ applicationId: id, userId: 1001, shard: null })).toBe(`stream ${id} 1001`);
  expect(streamOf({ applicationId: id, userId: null, shard: { number: 2, count: 8 } })).toBe(
    `stream ${id} all 2/8`,
  );
});
