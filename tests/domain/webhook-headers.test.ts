import { describe, expect, test } from "bun:test";
import { requestHead } from "../../src/delivery/send/connection.ts";
import {
  changedWebhookHeaders,
  maskedWebhookHeaders,
  type WebhookHeaderChanges,
  webhookHeaderProblems,
} from "../../src/domain/webhook-headers.ts";

const problem = (name: string, value: string | null = "v") =>
  webhookHeaderProblems(Object.fromEntries([[name, value]]))[0]?.message ?? null;

describe("the name of a header", () => {
  test.each([
    "Authorization",
    "X-Api-Key",
    "apikey",
    "Ocp-Apim-Subscription-Key",
    "Cookie",
    "x_key",
    "A".repeat(64),
  ])("may be %s", (name) => expect(problem(name)).toBeNull());

  test.each(["", "a b", "a:", "a\r\nb", "a\0", "é", "(a)", "a,b", '"a"', "a/b"])("may not be %j", (name) =>
    expect(problem(name)).toContain("is not a name"),
  );

  test("has at most 64 characters", () => expect(problem("A".repeat(65))).toContain("64"));

  test.each([
    ...["Webhook-Signature", "webhook-id", "webhook_id", "Webhook-Other", "Onair-Test", "ONAIR_SEQUENCE"],
    ...[
      "Content-Type",
      "content-length",
      "Content-Encoding",
      "Accept",
      "accept-encoding",
      "Host",
      "User-Agent",
    ],
    ...["Connection", "Keep-Alive", "Transfer-Encoding", "transfer_encoding", "TE", "Trailer", "Upgrade"],
    ...["HTTP2-Settings", "Expect", "Proxy-Authorization", "proxy-connection", "traceparent", "tracestate"],
    ...["Forwarded", "Via", "X-Forwarded-For", "x_forwarded_host", "X-Real-IP", "If-Match", "Range", "Date"],
    ...["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "Sec-Fetch-Site", "baggage"],
  ])("may not be %s", (name) => {
    expect(problem(name)).toBe("is reserved: it cannot be set");
    expect(problem(name, null)).toBe("is reserved: it cannot be set");
  });
});

describe("the value of a header", () => {
  test.each(["a", "Basic dXNlcjpwYXNz", "a\tb", "!~", "x".repeat(1_024)])("may be %j", (value) =>
    expect(problem("X-Key", value)).toBeNull(),
  );

  test.each(["", " ", " a", "a ", "a\t", "a\r\nb: c", "a\nb", "a\rb", "a\0b", "\x7f", "é", "\u2028", "😀"])(
    "may not be %j",
    (value) => expect(problem("X-Key", value)).toContain("printable ASCII"),
  );

  test("has at most 1,024 characters", () => expect(problem("X-Key", "x".repeat(1_025))).toContain("1024"));

  test("is no mask, which a client has read and sends back", () => {
    const [shown = ""] = Object.values(maskedWebhookHeaders([{ name: "X-Key", value: "s3cret-value" }]));
    expect(shown).not.toContain("s");
    expect(problem("X-Key", shown)).toContain("leave the header out");
  });
});

test("all problems are reported by name and without value, also the same name in another case", () => {
  const found = webhookHeaderProblems({ "X-Key": "one", "x-key": "two", Host: "se\ncret", A: "se\ncret" });
  expect(found.map(({ field }) => field)).toEqual([
    "webhook_headers.x-key",
    "webhook_headers.Host",
    "webhook_headers.A",
  ]);
  expect(JSON.stringify(found)).not.toContain("cret");
});

const url = "https://bot.example/webhook";
const before = { webhook_url: url, webhook_headers: [{ name: "X-Key", value: "old" }] };
const after = (changes: { webhook_url?: string | null; webhook_headers?: WebhookHeaderChanges }) =>
  changedWebhookHeaders(before, changes).map(({ name, value }) => `${name}: ${value}`);

describe("a change", () => {
  test.each<[string, { webhook_url?: string; webhook_headers?: WebhookHeaderChanges }, string[]]>([
    ["of something else keeps them", {}, ["X-Key: old"]],
    ["to another path keeps them", { webhook_url: "https://bot.example:443/other" }, ["X-Key: old"]],
    ["of none keeps them", { webhook_headers: {} }, ["X-Key: old"]],
    ["adds one", { webhook_headers: { A: "b" } }, ["X-Key: old", "A: b"]],
    ["replaces one of the same name in any case", { webhook_headers: { "x-KEY": "new" } }, ["x-KEY: new"]],
    ["removes one", { webhook_headers: { "x-key": null, other: null } }, []],
    ["removes all", { webhook_headers: null }, []],
    [
      "to another origin begins with none",
      { webhook_url: "https://other.example/webhook", webhook_headers: { A: "b" } },
      ["A: b"],
    ],
    [
      "to another port is one to another origin",
      { webhook_url: "https://bot.example:8443/", webhook_headers: {} },
      [],
    ],
  ])("%s", (_, changes, headers) => expect(after(changes)).toEqual(headers));

  test.each<[string, string | null]>([
    ["another host", "https://other.example/webhook"],
    ["a host below", "https://x.bot.example/webhook"],
    ["another scheme", "http://bot.example/webhook"],
    ["no URL", null],
  ])("to %s has to say what becomes of them", (_, webhook_url) => {
    expect(() => after({ webhook_url })).toThrow("webhook_headers must be given with a webhook_url");
    expect(after({ webhook_url, webhook_headers: null })).toEqual([]);
  });

  test("leaves at most ten", () => {
    const many = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`X-${i}`, "v"]));
    expect(after({ webhook_headers: { ...many(10), "X-Key": null } })).toHaveLength(10);
    expect(() => after({ webhook_headers: many(10) })).toThrow("at most 10");
  });

  test("cannot set them without a URL", () => {
    expect(() => after({ webhook_url: null, webhook_headers: { A: "b" } })).toThrow("need a webhook_url");
    expect(changedWebhookHeaders({ webhook_url: null, webhook_headers: [] }, { webhook_url: url })).toEqual(
      [],
    );
  });
});

test("what may be set can be sent", () => {
  const destination = { head: "POST / HTTP/1.1\r\n" } as Parameters<typeof requestHead>[0];
  for (const [name, value] of [
    ["Authorization", "a\tb"],
    ["x_key!", "~"],
  ] as const)
    expect(requestHead(destination, { [name]: value }, 0)).toContain(`${name}: ${value}\r\n`);
});

test("a name that an object cannot have as a field is reserved", () => {
  const changes = JSON.parse('{"__proto__": "a-value"}');
  expect(webhookHeaderProblems(changes)).toMatchObject([{ message: "is reserved: it cannot be set" }]);
});
