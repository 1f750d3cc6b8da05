import { expect, test } from "bun:test";
import { appTokensKept } from "../../src/domain/tokens.ts";
import { clientCredentials } from "../support/oauth.ts";
import { users } from "../support/real-data.ts";
import { json, ownServer, type TestApplication, type TestServer } from "../support/server.ts";

// Of an application's own tokens the newest 1,000 are good.

const works = async (server: TestServer, token: string) => {
  const { status } = await server.get("/public/v1/users/xqcow", token);
  return status === 200 ? true : status === 401 ? false : status;
};

async function getTokens(server: TestServer, app: TestApplication, count: number): Promise<string[]> {
  const tokens: string[] = [];
  while (tokens.length < count) {
    const some = Array.from({ length: Math.min(50, count - tokens.length) }, () =>
      clientCredentials(server, app),
    );
    tokens.push(...(await Promise.all(some)).map(({ body }) => body.access_token));
  }
  return tokens;
}

test("the newest tokens of an application are good, and the oldest end at once, even when just used", async () => {
  const server = await ownServer({ users });
  const [app, bystander] = [await server.application(), await server.application()];
  const [second = ""] = await getTokens(server, app, 1);
  const rest = await getTokens(server, app, appTokensKept - 2);
  for (const token of [app.token, second, bystander.token]) expect(await works(server, token)).toBe(true);

  const [newest = ""] = await getTokens(server, app, 1);
  expect(await works(server, app.token)).toBe(false);
  for (const token of [second, newest, bystander.token]) expect(await works(server, token)).toBe(true);

  // One that the operator makes counts, too.
  await server.admin("POST", `/admin/v1/applications/${app.id}/tokens`, { expires_in: 60 });
  expect(await works(server, second)).toBe(false);
  for (const token of [rest[0] ?? "", newest, bystander.token]) expect(await works(server, token)).toBe(true);
  const listed = await server.admin("GET", `/admin/v1/applications/${app.id}/tokens`);
  expect((await json<{ data: object[] }>(listed)).data).toHaveLength(appTokensKept);
});

test("an open event stream ends with the token that it was opened with", async () => {
  const server = await ownServer();
  const app = await server.application({ delivery: "stream" });
  const stream = await server.get("/public/v1/events/stream", app.token);
  expect(stream.status).toBe(200);
  await getTokens(server, app, appTokensKept);
  const reader = stream.body?.getReader();
  while ((await reader?.read())?.done === false);
  expect(await works(server, app.token)).toBe(false);
});
