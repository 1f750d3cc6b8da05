import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { exampleUrl } from "../../src/api/http/openapi.ts";
import { openCredentials } from "../../src/dev/credentials.ts";
import { builtInEventTypes } from "../../src/domain/events/built-in.ts";
import { exampleCategory, exampleChannel, exampleUser } from "../../src/domain/examples.ts";
import { afterTests } from "../support/after-tests.ts";
import { startPlatform } from "../support/dev.ts";
import { documentOf, find } from "../support/openapi.ts";
import { testDirectory } from "../support/server.ts";

// The examples of both references work unchanged on the platform of `onair dev`.

const data = join(testDirectory(), "data");
const platform = await startPlatform(data);
afterTests(() => platform.stop());
const document = await documentOf(platform.publicUrl);

async function ask(url: string, key: string): Promise<unknown> {
  return (await fetch(url, { headers: { authorization: `Bearer ${key}` } })).json();
}
const asked = (path: string) => ask(platform.publicUrl + path, openCredentials(data).access_token);

/** The examples of a parameter and of the answer. */
function exampleOf(name: string, of = document) {
  const { parameters = [], responses } = find(of, name);
  const answer = responses["200"]?.content?.["application/json"]?.example;
  return { parameter: (parameters[0] as { readonly example?: unknown }).example, answer };
}

describe("an example of the reference gives the documented answer on the sample platform", () => {
  test("the first request of the introduction", async () => {
    const [, path = ""] =
      /\$ACCESS_TOKEN" http:\/\/[^/]+(\/\S+)/.exec(`${document.info["description"]}`) ?? [];
    expect(path).toBe(`/public/v1/users/${exampleUser.username}`);
    expect(await asked(path)).toMatchObject({ user: { id: exampleUser.id } });
  });

  test("Get User", async () => {
    const { parameter, answer } = exampleOf("GET /public/v1/users/{username}");
    expect(await asked(`/public/v1/users/${parameter}`)).toEqual(answer);
  });

  test("Search Users", async () => {
    const { parameter, answer } = exampleOf("GET /public/v1/users/search");
    const { data } = (await asked(`/public/v1/users/search?query=${parameter}`)) as { data: unknown[] };
    expect(data).toContainEqual((answer as { data: unknown[] }).data[0]);
  });

  test("Get Category, except for its livestreams", async () => {
    const { parameter, answer } = exampleOf("GET /public/v1/categories/{id}");
    const inFlux = { viewers: 0, top_channels: [] };
    const shown = (found: unknown) => ({ ...(found as { category: object }).category, ...inFlux });
    expect(shown(await asked(`/public/v1/categories/${parameter}`))).toEqual(shown(answer));
  });

  test("the records of the admin API", async () => {
    const { adminUrl } = platform.app;
    const record = (path: string) => ask(`${adminUrl}/admin/v1/${path}`, openCredentials(data).admin_key);
    const admin = await documentOf(adminUrl);
    for (const [kind, shown] of [
      ["users", { user: exampleUser }],
      ["channels", { channel: exampleChannel }],
      ["categories", { category: exampleCategory }],
    ] as const) {
      const { parameter, answer } = exampleOf(`GET /admin/v1/${kind}/{id}`, admin);
      const found = await record(`${kind}/${parameter}`);
      // Pictures are served by the public listener, whose address the admin listener's document does not know.
      const here = JSON.stringify(answer).replaceAll(exampleUrl, platform.publicUrl);
      expect(found).toEqual(JSON.parse(here));
      expect(found).toMatchObject(shown);
    }
  });
});

test("the users in the examples of events are users of the sample platform, with their channels", () => {
  const people = new Map(platform.sample.people.map((person) => [person.user.id, person]));
  let seen = 0;
  const look = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    if ("user_id" in value && value.user_id !== null) {
      seen++;
      const { user, channel } = people.get(Number(value.user_id)) ?? {};
      expect(value).toMatchObject({
        username: user?.username,
        is_verified: user?.is_verified,
        channel_slug: channel?.slug,
      });
    }
    for (const inner of Object.values(value)) look(inner);
  };
  for (const { example } of builtInEventTypes) look(example);
  expect(seen).toBeGreaterThan(builtInEventTypes.length);
});
