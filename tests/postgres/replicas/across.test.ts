import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { openStream } from "../../support/event-stream.ts";
import {
  accept,
  authorizationRequest,
  Browser,
  challengeFor,
  loginUrl,
  parameter,
  redirectUri,
} from "../../support/oauth.ts";
import { hasPostgres } from "../../support/postgres.ts";
import { event, publish, subscribe } from "../../support/publishing.ts";
import { json, startServer, type TestServer, temporaryDirectory } from "../../support/server.ts";
import { until } from "../../support/until.ts";

setDefaultTimeout(180_000);

/*
 * Work that begins at one replica and continues at another.
 */

interface CategoryPage {
  readonly categories: readonly { readonly id: number; readonly viewers: number }[];
  readonly pagination: { readonly cursor: string; readonly has_more: boolean };
}

const followed = "channel.followed";
const directory = temporaryDirectory();
let one: TestServer;
let other: TestServer;

const numbered = (count: number) => Array.from({ length: count }, (_, i) => i + 1);

describe.skipIf(!hasPostgres)("from one replica to another", () => {
  const start = () =>
    startServer({
      engineThread: true,
      data: directory.path,
      isOnSqlite: false,
      args: ["--login-url", loginUrl],
    });
  beforeAll(async () => {
    one = await start();
    other = await start();
    await one.load(
      "users",
      [...numbered(60), 1001].map((id) => ({ id, username: `user_${id}` })),
    );
    await one.load(
      "categories",
      numbered(60).map((id) => ({ id, name: `Category ${id}`, slug: `category-${id}` })),
    );
    await one.load(
      "channels",
      numbered(60).map((id) => ({ id, user_id: id, slug: `channel-${id}`, name: `Channel ${id}` })),
    );
  });
  afterAll(async () => {
    await other?.stop();
    await one?.stop();
    directory.remove();
  });

  test("a login that begins at one replica is answered at another, once, and ends at the first", async () => {
    const app = await one.application({ redirect_uris: [redirectUri] });
    const browser = new Browser(one);
    const challenge = await challengeFor(browser, authorizationRequest(app.client_id));
    const path = `/admin/v1/login-requests/${challenge}`;
    expect((await other.admin("GET", path)).status).toBe(200);
    const to = await accept(other, challenge, { user_id: 1001 });
    expect((await one.admin("PUT", `${path}/reject`, {})).status).toBe(409);
    const { location } = await browser.open(to.slice(to.indexOf("/oauth/")));
    expect(parameter(location, "code")).not.toBe("");
  });

  const report = (viewers: (id: number) => number) =>
    one.load(
      "livestreams",
      numbered(40).map((id) => ({ channel_id: id, category_id: id, viewers: viewers(id), title: "Live" })),
    );
  const page = async (server: TestServer, cursor = ""): Promise<CategoryPage> => {
    const answer = await server.get(`/public/v1/categories?limit=7${cursor && `&cursor=${cursor}`}`);
    expect(answer.status).toBe(200);
    return json(answer);
  };

  test("paging continues in the order in which it began, each category once, while the order changes", async () => {
    await report((id) => id);
    await until(async () => (await page(one)).categories[0]?.id === 40);
    let last = await page(one);
    const walked = [...last.categories];
    // The opposite order.
    await report((id) => 1_000 - id);
    await until(async () => (await page(other)).categories[0]?.id === 1);
    for (let i = 0; last.pagination.has_more; i++) {
      last = await page(i % 2 === 0 ? other : one, last.pagination.cursor);
      walked.push(...last.categories);
    }
    const ofBeginning = [...numbered(40).reverse(), ...numbered(60).slice(40)];
    expect(walked.map(({ id }) => id)).toEqual(ofBeginning);
    expect(walked.map(({ viewers }) => viewers)).toEqual(ofBeginning.map((id) => (id <= 40 ? id : 0)));
  });

  test("paging continues when the replica where it began has stopped", async () => {
    await report((id) => id);
    const third = await start();
    await until(async () => (await page(third)).categories[0]?.id === 40);
    const first = await page(third);
    await third.stop();
    await report((id) => 1_000 - id);
    await until(async () => (await page(other)).categories[0]?.id === 1);
    const second = await page(other, first.pagination.cursor);
    expect(second.categories.map(({ id }) => id)).toEqual([33, 32, 31, 30, 29, 28, 27]);
  });

  test("a rate limit applies to both together, within a tenth, and is refilled once", async () => {
    const limit = 400;
    const { token } = await one.application({ rate_limit: limit });
    const asked = async (server: TestServer) =>
      (await server.get("/public/v1/users/user_1", token)).status === 200 ? 1 : 0;
    let admitted = 0;
    const began = performance.now();
    for (let i = 0; i < 75; i++) {
      const some = [one, other].flatMap((server) => numbered(4).map(() => asked(server)));
      for (const answer of await Promise.all(some)) admitted += answer;
      await Bun.sleep(30);
    }
    const refilled = ((performance.now() - began) / 60_000) * limit;
    expect(admitted).toBeGreaterThanOrEqual(limit);
    expect(admitted).toBeLessThanOrEqual((limit + refilled) * 1.1);
  });

  test("an event published at one replica is on the stream of the other, and the stream resumes at the first by its last id", async () => {
    const app = await one.application({ delivery: "stream" });
    await subscribe(one, app, [followed]);
    const atOther = await openStream(other, app.token, [followed]);
    const ids: unknown[] = [];
    ids.push((await publish(one, event(followed))).body["id"]);
    const [first] = await atOther.arrived(1);
    expect(first?.data.headers["onair-event-id"]).toBe(String(ids[0]));
    atOther.close();
    for (let i = 0; i < 3; i++) ids.push((await publish(i === 1 ? one : other, event(followed))).body["id"]);
    const atOne = await openStream(one, app.token, [followed], first?.id);
    const rest = await atOne.arrived(3);
    expect(rest.map(({ data }) => data.headers["onair-event-id"])).toEqual(ids.slice(1).map(String));
    expect(rest.map(({ type }) => type)).not.toContain("gap");
  });

  test("a stream ends at once when its token is revoked at the other replica", async () => {
    const app = await one.application({ delivery: "stream" });
    const stream = await openStream(other, app.token, [followed]);
    const { client_id, client_secret, token } = app;
    const body = new URLSearchParams({ client_id, client_secret, token });
    await one.get("/oauth/revoke", undefined, { method: "POST", body });
    await stream.until(({ errors }) => errors.includes(401));
  });
});
