import { describe, expect, test } from "bun:test";
import type { OutcomeClass } from "../../../src/delivery/retry.ts";
import { BlockedAddressError } from "../../../src/delivery/send/address.ts";
import { failureOf, statusError, timedOut } from "../../../src/delivery/send/result.ts";

function failure(code: string, more: object = {}): Error {
  return Object.assign(new Error(`secret details at 10.0.0.1 ${code}`), { code, ...more });
}

describe("failureOf", () => {
  test.each<[string, OutcomeClass]>([
    ["ENOTFOUND", "dns"],
    ["EAI_AGAIN", "dns"],
    ["ESERVFAIL", "dns"],
    ["ECONNREFUSED", "refused"],
    ["EHOSTUNREACH", "unreachable"],
    ["ENETUNREACH", "unreachable"],
    ["ETIMEDOUT", "unreachable"],
    ["ECONNRESET", "reset"],
    ["EPIPE", "reset"],
    ["ERR_SOCKET_CLOSED", "reset"],
    ["CERT_HAS_EXPIRED", "tls"],
    ["DEPTH_ZERO_SELF_SIGNED_CERT", "tls"],
    ["SELF_SIGNED_CERT_IN_CHAIN", "tls"],
    ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "tls"],
    ["ERR_TLS_CERT_ALTNAME_INVALID", "tls"],
    ["ERR_SSL_WRONG_VERSION_NUMBER", "tls"],
    ["EMFILE", "internal"],
    ["ERR_INVALID_CHAR", "internal"],
  ])("%s is %s", (code, kind) => {
    const { class: found, error } = failureOf(failure(code), "connecting");
    expect(found).toBe(kind);
    expect(error).toMatch(/^[A-Z].*\.$/);
    expect(error).not.toMatch(/secret|10\.0\.0\.1/);
  });

  test("a resolver that could not be reached is not a receiver that refused", () => {
    expect(failureOf(failure("ECONNREFUSED", { syscall: "getaddrinfo" }), "connecting").class).toBe("dns");
  });

  test("an address that is not public is blocked", () => {
    expect(failureOf(new BlockedAddressError(), "resolving the host name").class).toBe("blocked");
  });

  test("of several failed addresses, the first one is reported", () => {
    const all = Object.assign(new AggregateError([failure("ECONNREFUSED")]), { code: "ECONNREFUSED" });
    expect(failureOf(all, "connecting").class).toBe("refused");
  });

  test("anything at all can be classed", () => {
    for (const thrown of [undefined, null, "text", 5, {}, { code: 5 }, new Error("no code")]) {
      expect(failureOf(thrown, "connecting")).toEqual({
        class: "internal",
        error: "The request could not be made (unknown).",
      });
    }
  });

  test("names the stage at which a connection broke or timed out", () => {
    expect(failureOf(failure("ECONNRESET"), "agreeing on encryption").error).toBe(
      "The connection was closed while agreeing on encryption.",
    );
    expect(timedOut(15_000, "connecting").error).toBe("The time limit of 15 s was reached while connecting.");
  });
});

test("statusError speaks of all but 2xx", () => {
  expect([199, 200, 299, 300, 399, 400].map(statusError)).toEqual([
    "The answer was 199.",
    null,
    null,
    "The answer was 300. Redirects are not followed.",
    "The answer was 399. Redirects are not followed.",
    "The answer was 400.",
  ]);
});
