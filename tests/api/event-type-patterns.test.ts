import { expect, test } from "bun:test";
import { register } from "../support/event-types.ts";
import { event as eventOf, publish } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { testServer } from "../support/server.ts";

// Patterns in the schemas of registered event types.

const server = await testServer({ users });

const put = (name: string, body: unknown, of = server) => register(of, name, body);

const event = (name: string, version: number, data: unknown) => eventOf(name, { version, data });

/** A type with a field of this pattern. */
const patterned = (pattern: string) => ({
  version: 1,
  schema: { type: "object", properties: { a: { type: "string", pattern } } },
  example: {},
});

test("a text that would take a backtracking matcher forever is refused at once", async () => {
  const type = patterned("^(a+)+$");
  expect((await put("pattern.hard", type)).status).toBe(200);
  // RegExp would run for longer than the test may.
  const { status, body } = await publish(server, event("pattern.hard", 1, { a: `${"a".repeat(5_000)}!` }));
  expect([status, body["code"]]).toEqual([400, "invalid_parameter"]);
  expect((await publish(server, event("pattern.hard", 1, { a: "a".repeat(5_000) }))).status).toBe(202);
});

test("the error for a refused pattern names it and what to do instead", async () => {
  const { body } = await put("raffle.refused", patterned("^.{501}$"));
  expect(body.errors?.[0]?.message).toMatch(/^has the pattern "\^\.\{501\}\$", .* use maxLength$/);
});
