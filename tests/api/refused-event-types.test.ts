import { expect, test } from "bun:test";
import { raffle, register } from "../support/publishing.ts";
import { json, testServer } from "../support/server.ts";

const server = await testServer();
const put = (name: string, body: unknown) => register(server, name, body);

const shaped = (more: object) => ({ ...raffle, schema: { type: "object", ...more } });
const patterned = (pattern: string) => shaped({ properties: { a: { type: "string", pattern } } });
test.each<[string, unknown, string]>([
  ["no version", { ...raffle, version: undefined }, "version"],
  ["version 0", { ...raffle, version: 0 }, "version"],
  ["no schema", { version: 1, example: {} }, "schema"],
  ["a schema that is no object", { ...raffle, schema: [] }, "schema"],
  ["a schema of a string", { ...raffle, schema: { type: "string" } }, "schema"],
  ["an invalid schema", shaped({ properties: 1 }), "schema"],
  ["an unknown keyword", shaped({ propertees: {} }), "schema"],
  ["an invalid pattern", shaped({ patternProperties: { "(": {} } }), "schema"],
  ["a pattern that looks ahead", patterned("(?=a)b"), "schema"],
  ["a pattern that refers to a group", patterned("(a)\\1"), "schema"],
  ["a pattern of another language", patterned("(?i)a"), "schema"],
  ["a pattern with too many repetitions", patterned("^(?:[ab]{100}){6}$"), "schema"],
  ["a reference to another document", shaped({ $ref: "http://127.0.0.1:9/x" }), "schema"],
  ["another draft", shaped({ $schema: "http://json-schema.org/draft-04/schema#" }), "schema"],
  ["an asynchronous schema", shaped({ $async: true }), "schema"],
  ["a schema too large", shaped({ description: "x".repeat(70_000) }), "schema"],
  ["an example that does not fit", { ...raffle, example: { winner: "a" } }, "example.tickets"],
  ["a time to live of 0", { ...raffle, time_to_live_seconds: 0 }, "time_to_live_seconds"],
  ["a description of two lines", { ...raffle, description: "a\nb" }, "description"],
])("an event type with %s is refused", async (_, body, field) => {
  const answer = await put("raffle.refused", body);
  expect([answer.status, answer.body.code]).toEqual([400, "invalid_parameter"]);
  expect(answer.body.errors?.[0]?.field).toBe(field);
  const { data } = await json<{ data: { name: string }[] }>(await server.get("/public/v1/events/types"));
  expect(data.map(({ name }) => name)).not.toContain("raffle.refused");
});

test.each(["raffle", "Raffle.won", "raffle..won", ".won", "gap", `a.${"b".repeat(100)}`])(
  "the name %s is refused",
  async (name) => {
    expect((await put(name, raffle)).status).toBe(400);
  },
);

test("a built-in type cannot be registered, whatever the version, or deleted", async () => {
  expect((await put("channel.followed", { ...raffle, version: 2 })).status).toBe(409);
  const removed = await server.admin("DELETE", "/admin/v1/event-types/channel.followed?version=1");
  expect([removed.status, await json<object>(removed)]).toMatchObject([
    409,
    { message: "channel.followed is built in" },
  ]);
});
