import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { databaseFor, hasPostgres } from "../../support/postgres.ts";
import { ownProcess } from "../../support/process.ts";
import { event, publish, subscribe } from "../../support/publishing.ts";
import {
  category,
  channel,
  json,
  live,
  startServer,
  type TestApplication,
  type TestServer,
  temporaryDirectory,
  user,
} from "../../support/server.ts";
import { type TcpProxy, tcpProxy } from "../../support/tcp-proxy.ts";
import { until } from "../../support/until.ts";

setDefaultTimeout(180_000);

/*
 * The table of docs/replicas.md: changes acknowledged by one replica hold on the other, even if that one receives no
 * notifications.
 */

let changed: TestServer;
let looked: TestServer;
let proxy: TcpProxy;
const directory = temporaryDirectory();

const raffle = { version: 1, schema: { type: "object" }, example: {} };

async function start(direct?: string): Promise<TestServer> {
  const env = { ONAIR_DATABASE_DIRECT: direct };
  return startServer({ engineThread: true, data: directory.path, isOnSqlite: false, env });
}

interface Row {
  readonly name: string;
  /** The longest delay that a single read may show, if each read is checked. */
  readonly withinMs?: number;
  /** Sets up the data before the change. */
  prepare?(application: TestApplication): Promise<unknown>;
  change(application: TestApplication): Promise<Response>;
  /** Reads from the other replica. */
  look(application: TestApplication): Promise<unknown>;
  readonly before: unknown;
  readonly after: unknown;
}

/** The replica accepts the application's token before the change, and refuses it within a second afterwards. */
const asks = {
  withinMs: 1_000,
  look: async ({ token }: TestApplication) => (await looked.get("/public/v1/users/user_1", token)).status,
  before: 200,
  after: 401,
};

/** Each row has its own category and channel, with the same number. */
const lives = [12, 13, 14].map((id) => live(id, id, 100));

const categoryNow = async (id: number) =>
  (
    await json<{ category?: { name: string; viewers: number; top_channels: { name: string }[] } }>(
      await looked.get(`/public/v1/categories/${id}`),
    )
  ).category;

const eventTypes = (name: string) => ({
  put: () => changed.admin("PUT", `/admin/v1/event-types/${name}`, raffle),
  remove: () => changed.admin("DELETE", `/admin/v1/event-types/${name}?version=1`),
  async isKnown() {
    const { data } = await json<{ data: { name: string }[] }>(await looked.get("/public/v1/events/types"));
    return data.some((type) => type.name === name);
  },
});
const [registered, removed] = [eventTypes("raffle.won"), eventTypes("raffle.lost")];

let key: { id: string; key: string };
async function asOperator(): Promise<number> {
  const authorization = `Bearer ${key.key}`;
  return (await looked.admin("GET", "/admin/v1/event-types", undefined, { authorization })).status;
}

const rows: readonly Row[] = [
  {
    ...asks,
    name: "a revoked token",
    change: ({ client_id, client_secret, token }) =>
      changed.get("/oauth/revoke", undefined, {
        method: "POST",
        body: new URLSearchParams({ client_id, client_secret, token }),
      }),
  },
  {
    ...asks,
    name: "a disabled application",
    change: ({ id }) => changed.admin("PATCH", `/admin/v1/applications/${id}`, { disabled: true }),
  },
  {
    ...asks,
    name: "a removed application",
    change: ({ id }) => changed.admin("DELETE", `/admin/v1/applications/${id}`),
  },
  {
    ...asks,
    name: "scopes of an application",
    change: ({ id }) =>
      changed.admin("PATCH", `/admin/v1/applications/${id}`, { scopes: ["events:subscribe"] }),
    after: 403,
  },
  {
    name: "a filter",
    withinMs: 0,
    async prepare(application) {
      await changed.admin("PATCH", `/admin/v1/applications/${application.id}`, { delivery: "stream" });
      await subscribe(changed, application, ["channel.followed"], 1);
    },
    change: ({ id }) => {
      const filters = { "channel.followed": { follower: { username: "not_the_follower" } } };
      return changed.admin("PATCH", `/admin/v1/applications/${id}`, { filters });
    },
    look: async () => {
      const published = await publish(looked, event("channel.followed", { broadcaster_user_id: 1 }));
      return published.body["deliveries"];
    },
    before: 1,
    after: 0,
  },
  {
    name: "a removed user",
    withinMs: 0,
    prepare: () => changed.load("users", [user(2)]),
    change: () => changed.admin("DELETE", "/admin/v1/users/2"),
    look: async ({ token }) => (await looked.get("/public/v1/users/user_2", token)).status,
    before: 200,
    after: 404,
  },
  {
    name: "a rotated client secret",
    withinMs: 0,
    change: ({ id }) =>
      changed.admin("POST", `/admin/v1/applications/${id}/client-secret`, { overlap_seconds: 0 }),
    look: async ({ client_id, client_secret }) => {
      const body = new URLSearchParams({ grant_type: "client_credentials", client_id, client_secret });
      return (await looked.get("/oauth/token", undefined, { method: "POST", body })).status;
    },
    before: 200,
    after: 401,
  },
  {
    name: "a renamed category",
    change: () =>
      changed.admin("POST", "/admin/v1/categories/batch", JSON.stringify(category(11, "Renamed"))),
    look: async () => (await categoryNow(11))?.name,
    before: "Category 11",
    after: "Renamed",
  },
  {
    name: "viewers of a category",
    change: () => changed.admin("PUT", "/admin/v1/livestreams", JSON.stringify(live(12, 12, 500))),
    look: async () => (await categoryNow(12))?.viewers,
    before: 100,
    after: 500,
  },
  {
    name: "the name of a channel",
    change: () =>
      changed.admin(
        "POST",
        "/admin/v1/channels/batch",
        JSON.stringify(channel(13, undefined, 13, { name: "Renamed" })),
      ),
    look: async () => (await categoryNow(13))?.top_channels[0]?.name,
    before: "channel-13",
    after: "Renamed",
  },
  {
    name: "a removed channel, whose livestream ends",
    change: () => changed.admin("DELETE", "/admin/v1/channels/14"),
    look: async () => (await categoryNow(14))?.viewers,
    before: 100,
    after: 0,
  },
  {
    name: "a removed category",
    change: () => changed.admin("DELETE", "/admin/v1/categories/15"),
    look: async () => (await looked.get("/public/v1/categories/15")).status,
    before: 200,
    after: 404,
  },
  {
    name: "a registered event type",
    prepare: registered.remove,
    change: registered.put,
    look: registered.isKnown,
    before: false,
    after: true,
  },
  {
    name: "a removed event type",
    prepare: removed.put,
    change: removed.remove,
    look: removed.isKnown,
    before: true,
    after: false,
  },
  {
    name: "a revoked operator key",
    withinMs: 1_000,
    prepare: async () => {
      const made = await changed.admin("POST", "/admin/v1/keys", {
        name: `key ${crypto.randomUUID()}`,
        role: "reader",
      });
      key = await json(made);
    },
    change: () => changed.admin("DELETE", `/admin/v1/keys/${key.id}`),
    look: asOperator,
    before: 200,
    after: 401,
  },
];

describe.skipIf(!hasPostgres)("a change acknowledged by one replica holds on the other", () => {
  beforeAll(async () => {
    const url = new URL(await databaseFor(directory.path));
    proxy = await tcpProxy(Number(url.port));
    changed = await start();
    looked = await start(Object.assign(new URL(url), { port: `${proxy.port}` }).href);
  });
  afterAll(async () => {
    proxy?.stop();
    await looked?.stop();
    await changed?.stop();
    directory.remove();
  });
  async function prepare(): Promise<TestApplication[]> {
    const numbers = [11, 12, 13, 14, 15];
    await changed.load("users", [user(1), ...numbers.map((id) => user(id))]);
    await changed.load(
      "categories",
      Array.from(numbers, (id) => category(id)),
    );
    await changed.load(
      "channels",
      Array.from(numbers, (id) => channel(id)),
    );
    await changed.load("livestreams", lives);
    return Promise.all(
      rows.map(async (row) => {
        const application = await changed.application();
        await row.prepare?.(application);
        return application;
      }),
    );
  }

  /** The values that the rows read, by name. */
  const seen = async (applications: readonly TestApplication[], isAsked: (row: Row) => boolean) => {
    const asked = rows.map(async (row, i) => {
      const application = applications[i];
      return isAsked(row) && application ? [[row.name, await row.look(application)]] : [];
    });
    return Object.fromEntries((await Promise.all(asked)).flat());
  };
  const expected = (side: "before" | "after", isAsked: (row: Row) => boolean) =>
    Object.fromEntries(rows.filter(isAsked).map((row) => [row.name, row[side]]));
  const all = () => true;

  /** Names the rows that never show the change. One that does is not read again: wrong secrets are rate-limited. */
  async function shows(
    applications: readonly TestApplication[],
    side: "before" | "after",
    isAsked: (row: Row) => boolean,
  ): Promise<void> {
    const wanted = expected(side, isAsked);
    const shown = new Set<string>();
    await until(async () => {
      const found = await seen(applications, (row) => isAsked(row) && !shown.has(row.name));
      for (const name in found) if (Bun.deepEquals(found[name], wanted[name])) shown.add(name);
      return shown.size === Object.keys(wanted).length;
    }).catch(() => {});
    expect(await seen(applications, isAsked)).toEqual(wanted);
  }

  test.each([
    { how: "hears it", isDeaf: false, disturb() {} },
    { how: "hears nothing", isDeaf: true, disturb: () => proxy.hold() },
    { how: "cannot listen", isDeaf: true, disturb: () => proxy.cut() },
  ])("where the other $how", async ({ isDeaf, disturb }) => {
    const applications = await prepare();
    await shows(applications, "before", all);
    disturb();
    const holds = rows.map(async (row, i) => {
      const application = applications[i];
      if (!application) throw new Error("each row has an application");
      expect((await row.change(application)).ok).toBe(true);
      if (!isDeaf || row.withinMs === undefined) return;
      await Bun.sleep(row.withinMs);
      expect([row.name, await row.look(application)]).toEqual([row.name, row.after]);
    });
    await Promise.all(holds);
    await shows(applications, "after", all);
    proxy.release();
  });

  test("a replica that was suspended accepts no outdated credentials when it continues", async () => {
    const env = { ONAIR_DATABASE: await databaseFor(directory.path), ONAIR_RATE_LIMIT: "0" };
    const stopped = await ownProcess([], { env });
    const { token, id } = await changed.application();
    const ask = () => stopped.get("/public/v1/users/user_1", token);
    await until(async () => (await ask()).status === 200);
    stopped.kill("SIGSTOP");
    expect((await changed.admin("DELETE", `/admin/v1/applications/${id}`)).status).toBe(204);
    await Bun.sleep(1_100);
    const asked = Promise.all(Array.from({ length: 4 }, ask));
    stopped.kill("SIGCONT");
    expect((await asked).map(({ status }) => status)).toEqual([401, 401, 401, 401]);
  });
});
