import { describe, expect, test } from "bun:test";
import {
  type ClientType,
  isRegistered,
  mayReuseConsent,
  redirectUriProblem,
  withParameters,
} from "../../src/domain/applications.ts";

describe("RFC 6749, section 3.1.2 and RFC 8252, section 7: what may be registered", () => {
  const both = [true, true] as const;
  const publicOnly = [false, true] as const;
  const neither = [false, false] as const;
  test.each([
    ["https://app.example/callback", both],
    ["https://app.example/callback?tenant=1", both],
    ["http://127.0.0.1/callback", both],
    ["http://127.0.0.1:3000/callback", both],
    ["http://[::1]:3000", both],
    ["http://localhost:3000/callback", both],
    ["com.example.app:/callback", publicOnly],
    ["https://app.example/callback#fragment", neither],
    ["https://app.example/#", neither],
    ["https://user:password@app.example/", neither],
    ["http://app.example/callback", neither],
    ["http://127.0.0.1.example/callback", neither],
    ["http://127.0.0.1@app.example/", neither],
    ["http://127.0.0.1:99999/", neither],
    ["myapp:/callback", neither],
    ["javascript:alert(1)", neither],
    ["data:text/html,x", neither],
    ["/callback", neither],
    ["https:app.example", neither],
    ["https:///callback", neither],
    ["https://app.example/call back", neither],
    ["https://app.example/caf\u00e9", neither],
    ["", neither],
  ] as const)("%s", (uri, [confidential, publicClient]) => {
    expect(redirectUriProblem(uri, "confidential") === null).toBe(confidential);
    expect(redirectUriProblem(uri, "public") === null).toBe(publicClient);
  });

  test.each<[string, ClientType]>([
    ["http://app.example/", "confidential"],
    ["com.example.app:/callback", "confidential"],
    ["http://app.example/", "public"],
    ["myapp:/callback", "public"],
  ])("the error about %s, for a %s client, names all accepted forms", (uri, clientType) => {
    const taken = "http on 127.0.0.1, [::1] or localhost";
    expect(redirectUriProblem(uri, clientType)).toContain(taken);
  });
});

describe("RFC 9700, section 2.1 and RFC 8252, section 7.3: what matches", () => {
  const web = "https://app.example/callback";
  const local = "http://127.0.0.1:3000/callback";
  test.each<[string, string, string, ClientType, boolean]>([
    ["the same", web, web, "confidential", true],
    ["another path", web, `${web}/x`, "public", false],
    ["a query that was not registered", web, `${web}?x=1`, "public", false],
    ["another case", web, "https://app.example/Callback", "public", false],
    ["another port of https", web, "https://app.example:8443/callback", "public", false],
    ["another spelling", web, "https://app.example:443/callback", "public", false],
    ["another loopback port", local, "http://127.0.0.1:51234/callback", "public", true],
    [
      "a loopback port where none was registered",
      "http://127.0.0.1/callback",
      "http://127.0.0.1:1/callback",
      "public",
      true,
    ],
    ["a loopback port of IPv6", "http://[::1]/cb", "http://[::1]:51234/cb", "public", true],
    [
      "another loopback port of a confidential client",
      local,
      "http://127.0.0.1:51234/callback",
      "confidential",
      false,
    ],
    ["another loopback address", local, "http://[::1]:3000/callback", "public", false],
    ["another loopback path", local, "http://127.0.0.1:51234/other", "public", false],
    [
      "a host that begins like loopback",
      local,
      "http://127.0.0.1:51234.evil.example/callback",
      "public",
      false,
    ],
    [
      "a user name that looks like loopback",
      local,
      "http://127.0.0.1:1@evil.example/callback",
      "public",
      false,
    ],
    ["a port that is none", local, "http://127.0.0.1:99999/callback", "public", false],
    ["loopback with a fragment", local, "http://127.0.0.1:51234/callback#x", "public", false],
  ])("%s", (_, registered, asked, client_type, expected) => {
    expect(isRegistered(asked, { redirect_uris: ["https://other.example/", registered], client_type })).toBe(
      expected,
    );
  });
});

test("RFC 8252, section 8.6: consent is not reused where another program could pose as the application", () => {
  expect(mayReuseConsent("https://app.example/", "confidential")).toBe(true);
  expect(mayReuseConsent("https://app.example/", "public")).toBe(true);
  expect(mayReuseConsent("http://127.0.0.1/", "public")).toBe(false);
  expect(mayReuseConsent("com.example.app:/", "public")).toBe(false);
});

test("parameters are appended to an existing query, which is kept", () => {
  expect(withParameters("https://a.example/", { code: "c d", state: null })).toBe(
    "https://a.example/?code=c+d",
  );
  expect(withParameters("https://a.example/?x=%20", { code: "c" })).toBe("https://a.example/?x=%20&code=c");
});
