import { expect, test } from "bun:test";
import { type Diagnosed, diagnose, endpointSummary } from "../../../src/delivery/diagnosis.ts";
import { type OutcomeClass, outcomeClasses } from "../../../src/delivery/send/send.ts";
import { type Endpoint, enabledAgain, newEndpoint } from "../../../src/domain/endpoints.ts";

const outcomes = outcomeClasses.filter((name) => name !== "ok" && name !== "status");

const noTimings = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null };
const usual: Diagnosed = {
  class: "ok",
  status: 204,
  durationMs: 10,
  responseBody: "",
  timings: noTimings,
  url: "https://bot.example/webhook",
  location: null,
};

const answered = (status: number, more: Partial<Diagnosed> = {}) => {
  const isOk = status >= 200 && status < 300;
  return diagnose({ ...usual, class: isOk ? "ok" : "status", status, ...more });
};
const unanswered = (outcome: OutcomeClass, more: Partial<Diagnosed> = {}) =>
  diagnose({ ...usual, class: outcome, status: null, ...more });

test("a quick 2xx has no diagnosis", () => {
  for (const status of [200, 201, 202, 204]) expect(answered(status)).toBeNull();
  expect(answered(200, { responseBody: '{"ok":true}', durationMs: 4_999 })).toBeNull();
});

test.each<[number, string]>([
  [301, "redirect"],
  [308, "redirect"],
  [400, "refused the request"],
  [401, "login"],
  [404, "path"],
  [405, "POST"],
  [410, "disables the endpoint"],
  [429, "overloaded"],
  [500, "log"],
  [503, "log"],
])("%i is explained", (status, word) => {
  expect(answered(status)).toContain(`It answered ${status}`);
  expect(answered(status)).toContain(word);
});

test("a receiver that refuses samples is told that events reach it, if it says so", () => {
  expect(answered(403, { responseBody: "test_ is refused" })).toContain("refuses samples");
  for (const [status, responseBody] of [
    [403, "Forbidden"],
    [401, "test_ is refused"],
  ] as const)
    expect(answered(status, { responseBody })).not.toContain("refuses samples");
});

test("there is a warning for a slow success and for a web page", () => {
  expect(answered(204, { durationMs: 8_120 })).toContain("only after 8.1 seconds");
  for (const responseBody of ["<!DOCTYPE html><title>Hi", "\n<html lang=en>"])
    expect(answered(200, { responseBody })).toContain("web page");
});

test("every stage that can fail has a sentence of its own", () => {
  const said = outcomes.map((outcome) => unanswered(outcome));
  expect(new Set(said).size).toBe(outcomes.length);
  for (const sentence of said) expect(sentence).not.toBe("No response arrived.");
});

const url = "http://bot.example/webhook";
const connected = { ...noTimings, connectMs: 3 };

test.each<[string, string | null]>([
  ["https, but no TLS there", unanswered("tls", { speaks: "http" })],
  ["https, and closed instead of TLS", unanswered("reset", { timings: connected })],
  ["https, and nothing came instead of TLS", unanswered("timeout", { timings: connected })],
  ["http, but TLS there", unanswered("protocol", { url, speaks: "https" })],
  ["http, and closed without an answer", unanswered("reset", { url, timings: connected })],
  [
    "http, and the receiver says so (Go)",
    answered(400, { url, responseBody: "Client sent an HTTP request to an HTTPS server.\n" }),
  ],
  [
    "http, and the receiver says so (nginx)",
    answered(400, { url, responseBody: "<center>The plain HTTP request was sent to HTTPS port</center>" }),
  ],
  [
    "http, and the receiver says so (Apache)",
    answered(400, { url, responseBody: "You're speaking plain HTTP to an SSL-enabled server port." }),
  ],
  ["http, and a redirect to the same with https", answered(308, { url, location: usual.url })],
  ["https, and a redirect to the same with http", answered(301, { location: url })],
])("a wrong scheme is suspected: %s", (_, said) => {
  expect(said).toContain("http or https?");
});

test.each<[string, string | null]>([
  ["a crash of a receiver with TLS", unanswered("reset", { timings: { ...connected, tlsMs: 9 } })],
  ["a slow receiver with TLS", unanswered("timeout", { timings: { ...connected, tlsMs: 9 } })],
  ["a slow receiver without", unanswered("timeout", { url, timings: connected })],
  ["no connection at all", unanswered("timeout")],
  ["a certificate that is not trusted", unanswered("tls")],
  ["something else than HTTP", unanswered("protocol", { url })],
  ["a redirect to elsewhere", answered(302, { url, location: "https://login.example/" })],
  ["a 400 of another reason", answered(400, { url, responseBody: "no such type" })],
])("no wrong scheme is suspected: %s", (_, said) => {
  expect(said).not.toContain("http or https?");
});

test.each([
  [401, '{"error":"invalid_signature"}'],
  [403, "Signature verification failed"],
  [400, "No matching signature found"],
  [400, "HMAC does not match"],
  [401, "wrong secret"],
  [500, "WebhookVerificationError: No matching signature found\n    at verify"],
])("%i with %p: probably the wrong secret", (status, responseBody) => {
  expect(answered(status, { responseBody })).toContain("probably the wrong secret");
});

test.each([
  [401, "log in first"],
  [404, "no such signature"],
  [500, "TypeError: wrong signature of a function"],
])("%i with %p: no wrong secret", (status, responseBody) => {
  expect(answered(status, { responseBody })).not.toContain("secret");
});

test("a 401 with an empty body has two usual causes", () => {
  const said = answered(401, { responseBody: "" });
  expect(said).toContain("probably the wrong secret");
  expect(said).toContain("does something in front of the receiver ask for a login?");
});

test("a refused timestamp is explained by a wrong clock", () => {
  expect(answered(400, { responseBody: "Message timestamp too old" })).toContain("its clock is wrong");
});

test("a redirect is shown with its resolved and bounded destination", () => {
  expect(answered(302, { location: "/login?next=x" })).toContain(
    "a redirect to https://bot.example/login?next=x, which is not followed",
  );
  expect(answered(302, { location: "//[" })).toContain("a redirect to //[,");
  expect(answered(302, { location: `/${"a".repeat(9_000)}` })?.length).toBeLessThan(500);
});

const application = {
  delivery: "webhook",
  webhook_url: "https://bot.example/hook",
  disabled: false,
} as const;
const [earlier, later] = [Date.parse("2026-01-14T16:08:06Z"), Date.parse("2026-01-14T17:08:06Z")];
const advice = "Send a test to see that it answers.";

test.each<[string, Partial<Endpoint>, string, string | null]>([
  ["that nothing was sent to", {}, "Nothing was sent to the endpoint yet.", advice],
  [
    "that answered",
    { last_failure_at: earlier, last_success_at: later },
    "The endpoint accepts deliveries, the last one at 2026-01-14T17:08:06.000Z.",
    null,
  ],
  [
    "that was enabled after a failure",
    enabledAgain(
      { ...newEndpoint("a"), failing_since: later, last_success_at: earlier, last_failure_at: later },
      1,
    ),
    "Nothing was sent since the failure at 2026-01-14T17:08:06.000Z.",
    advice,
  ],
])("an enabled endpoint %s", (_, state, summary, advice) => {
  expect(endpointSummary(application, { ...newEndpoint("a"), ...state })).toEqual({ summary, advice });
});

test("the advice for an operator names no test, which operators cannot send", () => {
  const states: Partial<Endpoint>[] = [
    {},
    { failing_since: earlier, failures: 1, last_failure_at: later },
    { disabled_at: later, disabled_reason: "failing" },
    { last_failure_at: later, last_success_at: earlier },
  ];
  for (const state of states) {
    const endpoint = { ...newEndpoint("a"), ...state };
    for (const disabled of [true, false]) {
      const { advice } = endpointSummary({ ...application, disabled }, endpoint, { isForOperator: true });
      expect(advice).not.toMatch(/^Send|\. Send|Ask the platform/);
    }
  }
});

test("one without a URL says that nothing waits for it", () => {
  expect(endpointSummary({ ...application, webhook_url: null }, newEndpoint("a"))).toEqual({
    summary: "There is no webhook URL, so nothing is sent and new deliveries are canceled.",
    advice: "Set the webhook URL; a replay then sends the canceled deliveries.",
  });
});
