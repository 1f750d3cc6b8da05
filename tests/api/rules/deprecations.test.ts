import { expect, test } from "bun:test";
import { markDeprecated } from "../../../src/api/openapi/document.ts";
import { DeprecatedUse, type Deprecation, deprecations } from "../../../src/domain/deprecations.ts";
import type { Finding } from "../../../src/domain/findings.ts";
import { day } from "../../../src/domain/time.ts";
import { settingsHelp } from "../../../src/server/settings/shown-settings.ts";
import { keptLog } from "../../support/log.ts";
import { users } from "../../support/real-data.ts";
import { json, testServer } from "../../support/server.ts";

/*
 * What docs/stability.md promises of deprecations, for a table with one of each kind. The table of this version is
 * checked by the same rules.
 */

const dates = { since: "1.3.0", sinceDay: "2027-03-01", removedIn: "2.0.0", sunsetDay: "2027-09-01" };
const table: readonly Deprecation[] = [
  { ...dates, of: { api: "public", operation: "getUser" }, instead: "use Get Users" },
  { ...dates, of: { api: "public", operation: "getCategories", parameter: "q" }, instead: "use name" },
  { ...dates, of: { api: "admin", operation: "getBacklog" }, instead: "use the metrics" },
  {
    ...dates,
    sunsetDay: "2027-10-01",
    of: { api: "public", operation: "getDeliveries", parameter: "limit" },
    instead: "use size",
  },
  {
    ...dates,
    sinceDay: "2027-04-01",
    of: { api: "public", operation: "getDeliveries", parameter: "after" },
    instead: "use from",
  },
  {
    ...dates,
    sinceDay: "2027-05-01",
    sunsetDay: "2028-01-01",
    of: { api: "public", operation: "getDeliveries", parameter: "status" },
    instead: "use state",
  },
  { ...dates, of: { setting: "stream-limit" }, instead: "set it for each application" },
];

const { log, lines } = keptLog("warn");
const server = await testServer({ deprecations: table, args: ["--stream-limit", "7"], log, users });
const app = await server.application({ name: "Late bot" });

const announced = ({ headers }: Response) => [headers.get("deprecation"), headers.get("sunset")];
// RFC 9745: a date of RFC 9651. RFC 8594: a date of HTTP.
const both = ["@1803859200", "Wed, 01 Sep 2027 00:00:00 GMT"];
const neither = [null, null];

test.each([
  ["a deprecated operation", "/public/v1/users/xqcow", both],
  ["an error of it", "/public/v1/users/nobody", both],
  ["another operation", "/public/v1/users/search?query=riot", neither],
  ["a deprecated parameter", "/public/v1/categories?q=a", both],
  ["one that is empty", "/public/v1/categories?limit=1&q=", both],
  ["the operation without it", "/public/v1/categories?name=q", neither],
  ["a path that does not exist", "/public/v1/nothing?q=a", neither],
])("the answer to %s has the headers, or not", async (_, path, expected) => {
  expect(announced(await server.get(path, app.token))).toEqual(expected);
});

test("scripts of other origins can read the headers", async () => {
  const { headers } = await server.get("/public/v1/users/xqcow", app.token);
  const exposed = headers.get("access-control-expose-headers")?.split(", ");
  expect(exposed).toContain("Deprecation");
  expect(exposed).toContain("Sunset");
});

test("the admin API announces its own operations, also to who gives no key", async () => {
  expect(announced(await server.admin("GET", "/admin/v1/backlog"))).toEqual(both);
  expect(announced(await fetch(`${server.adminUrl}/admin/v1/backlog`))).toEqual(both);
  expect(announced(await server.admin("GET", "/admin/v1/settings"))).toEqual(neither);
});

test("the log names the setting at the start, and each application once a minute", async () => {
  await server.get("/public/v1/users/xqcow", app.token);
  const told = (await lines()).map((line) => JSON.parse(line));
  const settings = told.filter(({ event }) => event === "deprecated_setting");
  expect(settings).toEqual([
    expect.objectContaining({
      level: "warn",
      what: "--stream-limit",
      since: "1.3.0",
      removed_in: "2.0.0",
      sunset: "2027-09-01",
      instead: "set it for each application",
    }),
  ]);
  const ofUsers = told.filter(({ event, what }) => event === "deprecated_request" && what === "getUser");
  // The first at once, the others together when the log is flushed.
  expect(ofUsers.map(({ repeated }) => repeated)).toEqual([undefined, expect.any(Number)]);
  expect(ofUsers[0]).toMatchObject({ level: "warn", application_id: app.id, instead: "use Get Users" });
});

test("the findings have the setting, and who made requests", async () => {
  const { data } = await json<{ data: Finding[] }>(await server.admin("GET", "/admin/v1/findings"));
  const found = data.filter(({ check }) => check === "deprecations");
  expect(found.map(({ status, message }) => `${status}: ${message}`)).toEqual([
    "warning: --stream-limit is deprecated since 1.3.0, and ends with 2.0.0, not before 2027-09-01: set it for each application",
    expect.stringMatching(
      /^warning: getUser is .*: use Get Users \(\d+ requests used it, the last of Late bot at /,
    ),
    expect.stringMatching(
      /^warning: The parameter q of getCategories is .*: use name \(\d+ requests used it/,
    ),
    expect.stringMatching(/^warning: getBacklog is .*: use the metrics \(2 requests used it/),
  ]);
});

test("a request that uses several has the first day of each header", async () => {
  const later = ["@1809129600", "Sat, 01 Jan 2028 00:00:00 GMT"];
  const path = "/public/v1/events/deliveries";
  expect(announced(await server.get(`${path}?status=failed`, app.token))).toEqual(later);
  const query = "?limit=1&after=2027-01-01T00:00:00Z&status=failed";
  expect(announced(await server.get(path + query, app.token))).toEqual(both);
});

test("the documents mark operations and parameters", () => {
  const parameters = [{ name: "q", description: "A part." }, { name: "name" }];
  const marked = markDeprecated({ operationId: "getCategories", parameters }, "public", table);
  expect(marked).toEqual({
    operationId: "getCategories",
    parameters: [
      {
        name: "q",
        deprecated: true,
        description: expect.stringMatching(
          /^A part\.\n\nThe parameter q of getCategories is deprecated since/,
        ),
      },
      { name: "name" },
    ],
  });
  expect(markDeprecated({ operationId: "getUser" }, "public", table)).toMatchObject({ deprecated: true });
  expect(markDeprecated({ operationId: "getUser" }, "admin", table)).toEqual({ operationId: "getUser" });
});

test("the help of a setting says it", () => {
  const help = settingsHelp({}, new DeprecatedUse(table)).replaceAll(/\s+/g, " ");
  expect(help).toContain("--stream-limit is deprecated since 1.3.0, and ends with 2.0.0");
  expect(settingsHelp()).not.toContain("deprecated");
});

/** The shortest time between a deprecation and the version that removes what it names. */
const shortestNoticeMs = 180 * day;

/**
 * Returns what a deprecation breaks of the promise in docs/stability.md, as sentences: a removal that is not in a major
 * version, or comes too early.
 */
function deprecationFaults(deprecation: Deprecation): string[] {
  const { since, sinceDay, removedIn, sunsetDay } = deprecation;
  const [from = 0, to = 0] = [since, removedIn].map((version) => Number.parseInt(version, 10));
  const noticeMs = Date.parse(sunsetDay) - Date.parse(sinceDay);
  const faults: string[] = [];
  if (!/^\d+\.[1-9]\d*\.0$/.test(since)) faults.push(`${since} is no minor version after a major one`);
  if (!/^\d+\.0\.0$/.test(removedIn) || to <= from) faults.push(`${removedIn} is no later major version`);
  if (!(noticeMs >= shortestNoticeMs)) faults.push(`${sunsetDay} is less than 180 days after ${sinceDay}`);
  return faults;
}

test("the table of this version keeps the promised times", () => {
  expect(deprecations.flatMap(deprecationFaults)).toEqual([]);
});
