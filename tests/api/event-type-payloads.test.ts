import { beforeAll, describe, expect, test } from "bun:test";
import { event as eventOf, publish, raffle, register, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { testReceiver } from "../support/receiver.ts";
import { json, testServer } from "../support/server.ts";

// Payloads of registered event types, checked when they are published.

const server = await testServer({ users });
const payloadOf = (name: string, data: unknown) => eventOf(name, { data });

const good = { winner: "a", tickets: 1 };
test.each<[string, unknown, Record<string, string>]>([
  ["no fields", {}, { winner: "is required", tickets: "is required" }],
  ["wrong types", { winner: 1, tickets: "2" }, { winner: "must be string", tickets: "must be integer" }],
  ["an unknown field", { ...good, color: 1 }, { color: "is not a field of raffle.checked" }],
  [
    "a wrong type within a list",
    { ...good, prizes: [{ name: "a" }, { name: 2 }] },
    { "prizes[1].name": "must be string" },
  ],
])("a payload with %s is refused", async (_, data, problems) => {
  await register(server, "raffle.checked", raffle);
  const { status, body } = await publish(server, payloadOf("raffle.checked", data));
  expect(status).toBe(400);
  const errors = body["errors"] as { field: string; message: string }[];
  const expected = Object.entries(problems).map(([field, message]) => [`data.${field}`, message]);
  expect(errors.map(({ field, message }) => [field, message])).toEqual(expected);
});

describe("a number of a payload", () => {
  const receiver = testReceiver();
  beforeAll(async () => {
    await register(server, "raffle.open", { version: 1, schema: { type: "object" }, example: {} });
    const app = await server.application({ webhook_url: receiver.url });
    await subscribe(server, app, ["raffle.open"]);
  });
  const publishText = (data: string) => {
    const line = JSON.stringify(payloadOf("raffle.open", {})).replace('"data":{}', `"data":${data}`);
    return server.admin("POST", "/admin/v1/events", line, { "content-type": "application/json" });
  };

  test.each([
    ["too large for a double", '{"scores":[1,1e400]}', "data.scores[1]"],
    ["an integer that would be rounded", '{"by":{"id":12345678901234567890}}', "data.by.id"],
    [
      "such an integer in a field whose name is cut within a surrogate pair",
      `{"${"n".repeat(63)}😀":-9007199254740993}`,
      `data.${"n".repeat(63)}\ufffd…`,
    ],
  ])("is refused when it is %s", async (_, data, field) => {
    const message =
      "cannot be represented exactly: integers are exact up to 9007199254740991; send a larger one as a string";
    expect(await json<object>(await publishText(data))).toMatchObject({
      errors: [{ in: "body", field, message }],
    });
  });

  test.each([
    "9007199254740991",
    "-0.5",
    "1e-7",
    "0.1000000000000000055511151231257827",
    "1e20",
    "1.5e300",
    "-1.2345678901234567e+25",
    "100000000000000000000",
    "100000000000000000000000",
    "9007199254740992",
    '"12345678901234567890"',
  ])("is accepted when it is %s, which arrives unchanged", async (number) => {
    const { body } = await receiver.next(async () =>
      expect((await publishText(`{"n":[${number}]}`)).status).toBe(202),
    );
    expect(JSON.parse(body)).toMatchObject({ data: { n: [JSON.parse(number)] } });
  });
});

const endless = { type: "object", properties: { a: { allOf: [{ $ref: "#/properties/a" }] } } };

test("a payload whose check does not end is refused; its schema may be registered with an example whose check ends", async () => {
  const type = { version: 1, schema: endless, example: {} };
  const refused = await register(server, "endless.example", { ...type, example: { a: 1 } });
  const message =
    "cannot be checked, because applying the schema of endless.example to it takes too many steps";
  expect([refused.status, refused.body.errors]).toEqual([400, [{ in: "body", field: "example", message }]]);
  expect((await register(server, "endless.payload", type)).status).toBe(200);
  const { status, body } = await publish(server, payloadOf("endless.payload", { a: 1 }));
  expect([status, body["code"]]).toEqual([400, "invalid_parameter"]);
  expect((await publish(server, payloadOf("endless.payload", {}))).status).toBe(202);
});
