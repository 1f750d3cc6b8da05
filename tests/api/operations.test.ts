import { describe, expect, test } from "bun:test";
import { storedKinds } from "../../src/domain/sizes.ts";
import { subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { adminKey, Clock, isOnPostgres, json, testServer } from "../support/server.ts";
import { until } from "../support/until.ts";

// What the pages for operators and developers need and no other list gives.

const clock = new Clock();
const secret = `whsec_${Buffer.alloc(32, 9).toString("base64")}`;
const server = await testServer({
  clock,
  args: [
    "--rate-limit",
    "600",
    "--notify-url",
    "https://ops.example/hook?token=s3cret",
    "--time-to-live",
    "chat.message.sent=60",
  ],
  env: { ONAIR_NOTIFY_SECRET: secret },
});
await server.load("users", users);
await server.load("channels", [{ id: 5001, user_id: 1001, slug: "first-channel", name: "First" }]);

interface Page<T> {
  data: T[];
  pagination: { cursor: string; has_more: boolean };
}
const listed = async <T>(path: string): Promise<Page<T>> => json(await server.admin("GET", path));

describe("List Settings", () => {
  test("shows the settings in force with defaults, and no secret in any form", async () => {
    const answer = await server.admin("GET", "/admin/v1/settings");
    const text = await answer.text();
    const { data } = JSON.parse(text) as {
      data: { name: string; value: string | null; default: string | null }[];
    };
    const of = (name: string) => data.find((one) => one.name === name);
    expect(of("rate-limit")).toMatchObject({ value: "600", default: "800", is_secret: false });
    expect(of("admin-key")).toMatchObject({ value: "set", default: null, is_secret: true });
    expect(of("notify-secret")).toMatchObject({ value: "set", is_secret: true });
    expect(of("notify-url")?.value).toBe("https://ops.example/hook?***");
    expect(of("time-to-live")?.value).toBe("chat.message.sent=60");
    expect(of("trusted-proxies")?.value).toBe("");
    for (const hidden of [adminKey, secret, "s3cret"]) expect(text).not.toContain(hidden);
  });
});

describe("List Applications", () => {
  test("searches by name and owner, and a cursor belongs to its filter", async () => {
    for (const name of ["Zebra one", "Zébra two", "zebra three"]) await server.application({ name });
    const owned = await server.application({ name: "Owned zebra", owner_user_id: 1001 });
    const names = async (query: string) =>
      (await listed<{ name: string }>(`/admin/v1/applications${query}`)).data.map(({ name }) => name);
    expect((await names("?name=ZEBRA")).sort()).toEqual(
      ["Owned zebra", "Zebra one", "Zébra two", "zebra three"].sort(),
    );
    expect(await names(`?owner_user_id=1001`)).toEqual([owned && "Owned zebra"]);
    expect(await names("?name=zebra&owner_user_id=1002")).toEqual([]);
    const { pagination } = await listed("/admin/v1/applications?name=zebra&limit=3");
    expect(await names(`?name=zebra&limit=3&cursor=${pagination.cursor}`)).toHaveLength(1);
    expect((await server.admin("GET", `/admin/v1/applications?cursor=${pagination.cursor}`)).status).toBe(
      400,
    );
  });
});

describe("List Subscriptions", () => {
  test("finds the subscriptions to a channel, by slug or broadcaster; an application sees its own alone", async () => {
    const [one, two] = [
      await server.application({ webhook_url: "https://one.example/" }),
      await server.application({ webhook_url: "https://two.example/" }),
    ];
    await subscribe(server, one, ["channel.followed", "kicks.gifted"]);
    await subscribe(server, two, ["channel.followed"]);
    interface Named {
      app_id: string;
      username: string;
      channel_slug: string;
      channel_name: string;
    }
    const { data } = await listed<Named>(
      "/admin/v1/subscriptions?channel=first-channel&event=channel.followed",
    );
    expect(data.map(({ app_id }) => app_id).sort()).toEqual([one.id, two.id].sort());
    expect(data[0]).toMatchObject({ channel_slug: "first-channel", channel_name: "First" });
    const own = await json<Page<Named>>(
      await server.get(`/public/v1/application/subscriptions?broadcaster_user_id=1001&limit=1`, one.token),
    );
    expect(own.data).toHaveLength(1);
    expect(own.pagination.has_more).toBe(true);
    const { cursor } = own.pagination;
    const rest = await json<Page<Named>>(
      await server.get(
        `/public/v1/application/subscriptions?broadcaster_user_id=1001&cursor=${cursor}`,
        one.token,
      ),
    );
    expect(rest.data.map(({ app_id }) => app_id)).toEqual([one.id]);
    // A cursor is that of its application.
    const path = `/public/v1/application/subscriptions?broadcaster_user_id=1001&cursor=${cursor}`;
    expect((await server.get(path, two.token)).status).toBe(400);
  });
});

describe("Get Usage", () => {
  test("shows the rest of the rate limit without taking from it, and the secrets by age", async () => {
    const app = await server.application();
    for (let i = 0; i < 5; i++) await server.get("/public/v1/events/subscriptions", app.token);
    const usage = async () =>
      await json<Record<string, object>>(await server.admin("GET", `/admin/v1/applications/${app.id}/usage`));
    expect(await usage()).toMatchObject({ rate_limit: { limit: 600, remaining: 595 } });
    expect(await usage()).toMatchObject({
      rate_limit: { limit: 600, remaining: 595 },
      subscriptions: { used: 0 },
    });
    clock.advance(200);
    expect(await usage()).toMatchObject({ rate_limit: { remaining: 597 } });
    const text = JSON.stringify(await usage());
    for (const hidden of [app.client_secret, app.webhook_secret]) expect(text).not.toContain(hidden);
  });
});

describe("Get Storage", () => {
  // What a database has for room, the server does not know.
  test.skipIf(isOnPostgres)(
    "shows the free space, and from the second day on when the disk will be full",
    async () => {
      interface Storage {
        total_bytes: number;
        free_bytes: number;
        database_bytes: number;
        kinds: Record<string, number>;
        kinds_measured_at: string;
        used_per_day_bytes: number | null;
        full_at: string | null;
      }
      const storage = async () => json<Storage>(await server.admin("GET", "/admin/v1/storage"));
      // On a machine that is busy the kinds may be measured only after the first answer.
      await until(async () => (await storage()).kinds !== null);
      const measured = await storage();
      const { total_bytes, free_bytes, database_bytes, kinds, kinds_measured_at, ...forecast } = measured;
      expect(Object.keys(kinds)).toEqual([...storedKinds]);
      for (const kind of ["events", "deliveries", "users", "search", "access"])
        expect([kind, (kinds[kind] ?? 0) > 0]).toEqual([kind, true]);
      expect(Object.values(kinds).reduce((sum, bytes) => sum + bytes, 0)).toBeLessThanOrEqual(database_bytes);
      expect(Date.parse(kinds_measured_at)).toBe(clock.now());
      expect(total_bytes).toBeGreaterThan(free_bytes);
      expect(database_bytes).toBeGreaterThan(0);
      expect(forecast).toEqual({ used_per_day_bytes: null, full_at: null });
      // Two days ago there was twice as much room: it lasts for two more.
      const at = clock.now() - 48 * 3_600_000;
      const counts = { samples: 2, free_bytes: 4 * free_bytes, database_bytes: 2 };
      await server.app.store.statistics.add([{ kind: "storage", subject: "", at, counts, durations: [] }]);
      const { used_per_day_bytes, full_at } = await storage();
      const near = (value: number | null, expected: number) => Math.abs((value ?? 0) / expected - 1);
      expect(near(used_per_day_bytes, free_bytes / 2)).toBeLessThan(0.05);
      expect(near(Date.parse(full_at ?? "") - clock.now(), 48 * 3_600_000)).toBeLessThan(0.1);
    },
  );
});
