import { beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { version } from "../../package.json";
import { comparedKeywords, openLists } from "./documents.ts";
import { keptKind, keptSurface, releases } from "./kept.ts";
import { type Promised, promises } from "./promises.ts";
import { compareMetrics, compareSurfaces, type Surface, type SurfaceMetric, surfaceNow } from "./surface.ts";

/*
 * Each release is compared with this checkout. A difference that docs/stability.md forbids fails with the sentence that
 * it breaks. The tables below show that the comparison finds such differences, and lets additions pass.
 */

let now: Surface;
beforeAll(async () => {
  now = await surfaceNow();
});

const sentences = (breaks: readonly { promise: Promised; what: string }[]) =>
  breaks.map(({ promise, what }) => `${what} — ${promises[promise]}`);

test.each(releases)("what %s promised is still there", (release) => {
  expect(sentences(compareSurfaces(keptSurface(release), now))).toEqual([]);
});

test("the first release of this major version is kept", () => {
  expect(releases).toContain(version.replace(/\..*/, ".0"));
});

test("docs/stability.md has every sentence, and names what grows", async () => {
  const page = await Bun.file(join(import.meta.dir, "../../docs/stability.md")).text();
  expect(Object.values(promises).filter((sentence) => !page.includes(sentence))).toEqual([]);
  expect(openLists.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

test("the documents have no keyword that the comparison does not read", () => {
  const unread = new Set<string>();
  const look = (schema: Open): void => {
    if (typeof schema !== "object" || schema === null) return;
    for (const [keyword, value] of Object.entries<Open>(schema)) {
      if (!comparedKeywords.includes(keyword)) unread.add(keyword);
      if (keyword === "properties") for (const one of Object.values<Open>(value)) look(one);
      if (["anyOf", "oneOf", "allOf"].includes(keyword)) for (const one of value) look(one);
      if (["items", "additionalProperties"].includes(keyword)) look(value);
    }
  };
  let count = 0;
  const walk = (part: Open): void => {
    if (typeof part !== "object" || part === null) return;
    for (const [key, value] of Object.entries<Open>(part)) {
      if (key === "schemas") for (const schema of Object.values<Open>(value)) look(schema);
      else if (key === "schema") look(value);
      else if (key !== "example" && key !== "examples") walk(value);
      if (key === "schema") count++;
    }
  };
  for (const document of [now.public, now.admin]) walk(document);
  for (const schema of Object.values(now.events)) look(schema);
  expect([...unread]).toEqual([]);
  expect(count).toBeGreaterThan(500);
});

// Boundaries: the tests change parts of the documents, whose form they know.
// biome-ignore lint/suspicious/noExplicitAny: see above
type Open = any;
type Change = (surface: Open) => void;

const users = "/public/v1/users/{username}";
const categories = "/public/v1/categories";
const subscriptions = "/public/v1/events/subscriptions";

/** The schema of the body of an answer, without a reference. */
const answer = (document: Open, path: string, method = "get", status = "200") =>
  deref(document, document.paths[path][method].responses[status].content["application/json"].schema);
const body = (document: Open, path: string, method: string) =>
  deref(document, document.paths[path][method].requestBody.content["application/json"].schema);
const parameter = (document: Open, path: string, name: string, method = "get") =>
  document.paths[path][method].parameters.find((one: Open) => one.name === name);
function deref(document: Open, schema: Open): Open {
  if (typeof schema.$ref !== "string") return schema;
  const parts = schema.$ref.slice(2).split("/");
  return deref(
    document,
    parts.reduce((value: Open, part: string) => value[part], document),
  );
}
const without = <T>(list: readonly T[], one: T) => list.filter((other) => other !== one);
const userOf = (surface: Open) => deref(surface.public, answer(surface.public, users).properties.user);
const recordOf = (surface: Open) =>
  deref(surface.public, deref(surface.public, answer(surface.public, subscriptions).properties.data).items);

describe("deliberate changes are found", () => {
  test.each<[change: string, promise: Promised, Change]>([
    ["a method is removed", "operations", (s) => delete s.public.paths[subscriptions].delete],
    ["an operation is renamed", "operations", (s) => (s.public.paths[users].get.operationId = "readUser")],
    [
      "a parameter becomes required",
      "accepts",
      (s) => (parameter(s.public, categories, "name").required = true),
    ],
    [
      "a required parameter is added",
      "accepts",
      (s) =>
        s.public.paths[users].get.parameters.push({ name: "as", in: "query", required: true, schema: {} }),
    ],
    ["a parameter is removed", "effect", (s) => (parameter(s.public, categories, "name").name += "s")],
    ["a limit gets lower", "accepts", (s) => (parameter(s.public, categories, "limit").schema.maximum = 50)],
    [
      "a limit from below gets higher",
      "accepts",
      (s) => (parameter(s.public, categories, "limit").schema.minimum = 2),
    ],
    ["a default changes", "effect", (s) => (parameter(s.public, categories, "limit").schema.default = 7)],
    [
      "a parameter gets a pattern",
      "accepts",
      (s) => (parameter(s.public, categories, "name").schema.pattern = "^a"),
    ],
    [
      "a parameter may no longer be empty",
      "accepts",
      (s) => delete parameter(s.public, categories, "name").allowEmptyValue,
    ],
    [
      "a parameter gets another type",
      "accepts",
      (s) => (parameter(s.public, categories, "name").schema.type = "integer"),
    ],
    [
      "a value of a parameter is removed",
      "accepts",
      (s) => {
        const { schema } = parameter(s.public, "/public/v1/events/deliveries", "status");
        const listed = schema.enum ? schema : schema.items;
        listed.enum = listed.enum.slice(1);
      },
    ],
    [
      "a field of a body becomes required",
      "accepts",
      (s) => body(s.public, subscriptions, "post").required.push("method"),
    ],
    [
      "a field of a body is removed",
      "effect",
      (s) => delete body(s.public, subscriptions, "post").properties.method,
    ],
    [
      "a list of a body gets shorter",
      "accepts",
      (s) => (body(s.public, subscriptions, "post").properties.events.maxItems = 10),
    ],
    [
      "a body is required",
      "accepts",
      (s) => (s.public.paths["/public/v1/events/test"].post.requestBody.required = true),
    ],
    [
      "a media type of a body is removed",
      "accepts",
      (s) => delete s.admin.paths["/admin/v1/events"].post.requestBody.content["application/x-ndjson"],
    ],
    ["a field of an answer is removed", "answers", (s) => delete userOf(s).properties.bio],
    ["a field may be missing", "answers", (s) => (userOf(s).required = without(userOf(s).required, "bio"))],
    ["a field gets another type", "values", (s) => (userOf(s).properties.bio = { type: "integer" })],
    ["a field may be null", "values", (s) => (userOf(s).properties.bio.type = ["string", "null"])],
    [
      "a field is no longer null where it may be",
      "answers",
      (s) => delete recordOf(s).properties.broadcaster_user_id,
    ],
    ["a field may be greater", "values", (s) => delete userOf(s).properties.followers_count.maximum],
    ["a number gets another format", "values", (s) => (userOf(s).properties.id.format = "int32")],
    [
      "a field gets a further value",
      "values",
      (s) => {
        const { properties } = answer(s.public, "/public/v1/application");
        const { delivery } = deref(s.public, properties.data ?? { properties }).properties;
        deref(s.public, delivery).enum.push("fax");
      },
    ],
    [
      "a header of an answer is removed",
      "answers",
      (s) => delete s.public.paths[users].get.responses["200"].headers["RateLimit-Limit"],
    ],
    [
      "success has another status",
      "statuses",
      (s) => {
        const { responses } = s.public.paths[users].get;
        responses["201"] = responses["200"];
        delete responses["200"];
      },
    ],
    ["success gets a further status", "statuses", (s) => (s.public.paths[users].get.responses["202"] = {})],
    [
      "an answer is no longer JSON",
      "statuses",
      (s) => {
        const { content } = s.public.paths[users].get.responses["200"];
        content["text/plain"] = { schema: { type: "string" } };
        delete content["application/json"];
      },
    ],
    [
      "a scope is needed",
      "access",
      (s) => (s.public.paths[categories].get.security = s.public.paths[users].get.security),
    ],
    [
      "tokens are got elsewhere",
      "access",
      (s) => (s.public.components.securitySchemes.accessToken.flows.clientCredentials.tokenUrl += "/v2"),
    ],
    [
      "a scope is removed",
      "access",
      (s) =>
        delete s.public.components.securitySchemes.accessToken.flows.clientCredentials.scopes["users:read"],
    ],
    [
      "another scope is needed",
      "access",
      (s) => (s.public.paths[users].get.security = s.public.paths[subscriptions].get.security),
    ],
    [
      "a role is removed",
      "access",
      (s) => (s.admin.paths["/admin/v1/settings"].get["x-roles"] = ["operator"]),
    ],
    [
      "a webhook is removed",
      "events",
      (s) => delete s.public.webhooks[Object.keys(s.public.webhooks)[0] ?? ""],
    ],
    ["an event type is removed", "events", (s) => delete s.events["channel.followed 1"]],
    [
      "a field of an event is removed",
      "answers",
      (s) => delete s.events["channel.followed 1"].properties.follower,
    ],
    [
      "a field of an event is required of the platform",
      "accepts",
      (s) => {
        const schema = s.events["channel.followed 1"];
        schema.properties.source = { type: "string" };
        schema.required.push("source");
      },
    ],
    ["a setting is removed", "settings", (s) => delete s.settings.host],
    ["a default of a setting changes", "settings", (s) => (s.settings["rate-limit"].default = "600")],
    ["a variable is renamed", "settings", (s) => (s.settings.host.variable = "ONAIR_ADDRESS")],
    ["a switch needs a value", "settings", (s) => (s.settings.portal.value = "PATH")],
    ["a secret is no longer read from a file", "settings", (s) => (s.settings["admin-key"].in_file = false)],
    ["a command is removed", "commands", (s) => delete s.commands.export],
    ["an action is removed", "commands", (s) => delete s.commands.apps.actions.list],
    ["an option is removed", "commands", (s) => delete s.commands.deliveries.options.json],
    ["an option needs a value", "commands", (s) => (s.commands.deliveries.options.json.type = "string")],
    ["an option loses a value", "commands", (s) => (s.commands.openapi.options.openapi.values = ["3.1"])],
    ["an option disappears from the help", "commands", (s) => (s.help.backup = "Usage: onair backup\n")],
    [
      "a variable disappears from the help",
      "commands",
      (s) => (s.help.apps = s.help.apps.replaceAll("ONAIR_ADMIN_URL", "")),
    ],
    ["a client lacks a class", "clients", (s) => (s.clients.python = without(s.clients.python, "Verifier"))],
    ["a command gets an exit code", "exitCodes", (s) => s.commands.import.exit_codes.push(3)],
    [
      "an event of the log is renamed",
      "logEvents",
      (s) => (s.log.events = without(s.log.events, "started info")),
    ],
    [
      "an event of the log gets another level",
      "logEvents",
      (s) => {
        s.log.events = s.log.events.map((one: string) => (one === "started info" ? "started debug" : one));
      },
    ],
    [
      "the line of a request loses a field",
      "requestLine",
      (s) => (s.log.request = without(s.log.request, "client")),
    ],
    ["a released migration is changed", "migrations", (s) => (s.migrations.sqlite[0].sha256 = "0")],
    ["a released migration is removed", "migrations", (s) => s.migrations.postgres.shift()],
    [
      "a migration is put before a released one",
      "migrations",
      (s) => s.migrations.sqlite.unshift({ name: "0000_a", sha256: "0" }),
    ],
  ])("%s", (_, promise, change) => {
    const changed: Open = structuredClone(now);
    change(changed);
    const found = compareSurfaces(now, changed);
    expect(found.map((one) => one.promise)).toContain(promise);
    // One change, and not everything that refers to it, except where the part is used by several operations.
    expect(new Set(found.map((one) => one.promise)).size).toBeLessThanOrEqual(2);
  });
});

describe("additions are none", () => {
  test.each<[addition: string, Change]>([
    ["nothing", () => {}],
    ["a path", (s) => (s.public.paths["/public/v1/clips"] = s.public.paths[categories])],
    [
      "an optional parameter",
      (s) =>
        s.public.paths[users].get.parameters.push({ name: "as", in: "query", required: false, schema: {} }),
    ],
    ["a higher limit", (s) => (parameter(s.public, categories, "limit").schema.maximum = 500)],
    [
      "an optional field of a body",
      (s) => (body(s.public, subscriptions, "post").properties.note = { type: "string" }),
    ],
    [
      "a field of an answer that is always there",
      (s) => {
        userOf(s).properties.pronouns = { type: "string" };
        userOf(s).required.push("pronouns");
      },
    ],
    [
      "an error code",
      (s) => {
        for (const [name, schema] of Object.entries<Open>(s.public.components.schemas))
          if (/Error$/.test(name)) schema.properties.code.enum.push("teapot");
      },
    ],
    ["an error status", (s) => (s.public.paths[users].get.responses["418"] = { description: "tea" })],
    [
      "a header of an answer",
      (s) => (s.public.paths[users].get.responses["200"].headers.Age = { schema: { type: "integer" } }),
    ],
    ["a role that may call", (s) => s.admin.paths["/admin/v1/settings"].get["x-roles"].push("publisher")],
    ["a scope that is no longer needed", (s) => (s.public.paths[users].get.security = [])],
    ["a version of an event type", (s) => (s.events["channel.followed 2"] = { type: "object" })],
    [
      "an optional field of an event",
      (s) => (s.events["channel.followed 1"].properties.source = { type: "string" }),
    ],
    ["a setting", (s) => (s.settings.clips = s.settings.portal)],
    [
      "a command, an action, an option",
      (s) => {
        s.commands.clips = s.commands.export;
        s.commands.apps.actions.copy = [];
        s.commands.export.options.since = { type: "string", repeatable: false, values: null };
      },
    ],
    ["a name of a client", (s) => s.clients.go.push("Clips")],
    ["an event of the log", (s) => s.log.events.push("clip_made info")],
    ["a field of the line of a request", (s) => s.log.request.push("tenant")],
    ["a migration at the end", (s) => s.migrations.sqlite.push({ name: "0001_clips", sha256: "0" })],
    ["descriptions", (s) => (s.public.paths[users].get.description = "Other words.")],
  ])("%s", (_, change) => {
    const changed: Open = structuredClone(now);
    change(changed);
    expect(sentences(compareSurfaces(now, changed))).toEqual([]);
  });
});

describe("metrics", () => {
  const kept = () => keptKind(releases[0] ?? "", "sqlite").metrics;
  const name = "onair_attempts_total";
  test.each<[string, (metrics: Record<string, SurfaceMetric>) => void, string[]]>([
    ["the same", () => {}, []],
    ["another one", (metrics) => (metrics["onair_clips"] = { type: "gauge", labels: [] }), []],
    ["one less", (metrics) => delete metrics[name], [`${name} is removed`]],
    [
      "another type",
      (metrics) => (metrics[name] = { type: "gauge", labels: ["outcome"] }),
      [`${name} is a gauge, no counter`],
    ],
    [
      "another label",
      (metrics) => (metrics[name] = { type: "counter", labels: ["result"] }),
      [`${name} has the labels result, not outcome`],
    ],
  ])("%s", (_, change, expected) => {
    const changed = structuredClone(kept()) as Record<string, SurfaceMetric>;
    change(changed);
    expect(compareMetrics(kept(), changed).map(({ what }) => what)).toEqual(expected);
  });
});
