import { expect, test } from "bun:test";
import { loginUrl } from "../../support/oauth.ts";
import { json, ownServer, testServer } from "../../support/server.ts";

const server = await testServer({ args: ["--login-url", loginUrl] });

const path = "/.well-known/oauth-authorization-server";
const openIdPath = "/.well-known/openid-configuration";

test.each([path, openIdPath])("%s names the endpoints and what they can do", async (path) => {
  const response = await server.get(path);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("application/json");
  expect(response.headers.get("cache-control")).toBe("public, max-age=300");
  const issuer = server.publicUrl;
  expect(await json<object>(response)).toEqual({
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    introspection_endpoint: `${issuer}/oauth/introspect`,
    userinfo_endpoint: `${issuer}/oauth/userinfo`,
    scopes_supported: ["users:read", "events:subscribe"],
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "client_credentials", "refresh_token"],
    token_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post", "none"],
    revocation_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post", "none"],
    introspection_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post", "none"],
    code_challenge_methods_supported: ["S256"],
    authorization_response_iss_parameter_supported: true,
    service_documentation: `${issuer}/docs`,
  });
});

test("RFC 8414, section 3.3: every endpoint it names is there, and the issuer is the address it was asked at", async () => {
  const metadata = await json<Record<string, string>>(await server.get(path));
  expect(`${metadata["issuer"]}${path}`).toBe(server.publicUrl + path);
  for (const [name, url] of Object.entries(metadata)) {
    if (name.endsWith("_endpoint"))
      expect([name, (await fetch(url, { method: "OPTIONS" })).status]).toEqual([name, 204]);
  }
});

test("promises no login of users where none is set up", async () => {
  const without = await ownServer();
  const metadata = await json<Record<string, unknown>>(await without.get(path));
  expect(metadata).not.toHaveProperty("authorization_endpoint");
  expect(metadata["response_types_supported"]).toEqual([]);
  expect(metadata["grant_types_supported"]).toEqual(["client_credentials", "refresh_token"]);
});
