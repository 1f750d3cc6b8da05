import { beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newWebhookSecret } from "../../src/delivery/signature.ts";
import { openCredentials, saveCredentials } from "../../src/dev/credentials.ts";
import type { DevPlatform } from "../../src/dev/platform.ts";
import { afterThisTest } from "../support/after-tests.ts";
import { startPlatform, type TestPlatform } from "../support/dev.ts";
import { ownReceiver } from "../support/receiver.ts";
import { ownDirectory, startServer } from "../support/server.ts";
import { storedApplication } from "../support/store.ts";
import { until } from "../support/until.ts";

let directory: string;
let data: string;
beforeEach(() => {
  directory = ownDirectory();
  data = join(directory, "data");
});

const running = new Set<DevPlatform>();

async function start(options: Parameters<typeof startPlatform>[1] = {}) {
  const platform = await startPlatform(data, options);
  running.add(platform);
  afterThisTest(() => stop(platform));
  return platform;
}

async function stop(platform: DevPlatform) {
  if (running.delete(platform)) await platform.stop();
}

/**
 * Gives the receiver a free port below the ephemeral range, so that no other program gets it while no platform runs.
 */
function ownReceiverPort() {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 10_000);
    try {
      Bun.listen({ hostname: "127.0.0.1", port, socket: { data() {} } }).stop(true);
    } catch {
      continue; // in use
    }
    return saveCredentials(data, { ...openCredentials(data), receiver_port: port });
  }
}

const viewers = async ({ app }: DevPlatform) => (await app.store.livestreams.all()).map((one) => one.viewers);

/** Waits until viewer counts have changed this many times. Each tick of the platform changes them first. */
async function moved(platform: DevPlatform, times: number) {
  for (let i = 0; i < times; i++) {
    const before = await viewers(platform);
    await until(async () => (await viewers(platform)).join() !== before.join());
  }
}

/** The system's clock, until a test advances it. */
function clockAhead() {
  let aheadMs = 0;
  return {
    now: () => Date.now() + aheadMs,
    advance(ms: number) {
      aheadMs += ms;
    },
  };
}

describe("a platform to develop against", () => {
  test("generates events that other applications subscribe to, and applies them to its data", async () => {
    const clock = clockAhead();
    const written: string[] = [];
    const platform = await start({ events: true, now: clock.now, written });
    // Its own receiver verifies them.
    await until(() => written.some((line) => line.includes(" verified ")));
    expect((await platform.facts()).inbox.map(({ id }) => platform.hasArrived(id))).toContain(true);
    expect(platform.hasArrived("01KEYN2Q9GZ4T7RFDX6M8V3BHC")).toBe(false);
    expect(written.some((line) => line.includes("refused"))).toBe(false);
    const { store } = platform.app;
    const { client_id } = openCredentials(data);
    const own = await store.subscriptions.ofApplication(client_id);
    await store.subscriptions.remove(
      client_id,
      own.map(({ id }) => id),
      Date.now(),
    );
    const receiver = ownReceiver();
    const [somebody] = platform.sample.people.slice(-1);
    const applicationId = await storedApplication(store, {
      webhook_url: receiver.url,
      webhook_secret: newWebhookSecret(),
    });
    const wanted = {
      broadcaster_user_id: somebody?.user.id ?? 0,
      event: "livestream.status.updated",
      version: 1,
    };
    await store.subscriptions.subscribe({ applicationId, wanted: [wanted], limit: 10 }, Date.now());
    // The next event is due in 2 to 5 seconds.
    clock.advance(5_000);
    const [delivery] = await receiver.arrived(1);
    expect(JSON.parse(delivery?.body ?? "")).toMatchObject({
      type: "livestream.status.updated",
      data: { broadcaster: { username: somebody?.user.username }, is_live: true },
    });
    const live = await store.livestreams.all();
    expect(live.some(({ channel_id }) => channel_id === somebody?.channel.id)).toBe(true);
  });

  test("has viewer counts that change every second, which categories reflect, and nothing else if events are off", async () => {
    const written: string[] = [];
    const clock = clockAhead();
    const platform = await start({ written, now: clock.now });
    const page = async () => (await fetch(`${platform.publicUrl}/public/v1/categories`)).text();
    const shown = await page();
    await moved(platform, 1);
    await until(async () => (await page()) !== shown);
    // With events, each would be due by now, and the second move comes after they were published.
    clock.advance(60_000);
    await moved(platform, 2);
    expect(written).toEqual([]);
    expect(await platform.app.store.deliveries.last()).toBe(0);
    expect((await viewers(platform)).length).toBe(platform.sample.livestreams.length);
  });

  test("prints and uses the current signing secret, and prints the webhook URL", async () => {
    const { app, facts } = await start();
    const { receiver_url, webhook_url, secrets } = await facts();
    expect(webhook_url).toBe(receiver_url);
    const call = async (method: string, path: string, body: object) => {
      const headers = { authorization: `Bearer ${secrets.access_token}`, "content-type": "application/json" };
      const answer = await fetch(`${app.publicUrl}/public/v1/${path}`, {
        method,
        headers,
        body: JSON.stringify(body),
      });
      return ((await answer.json()) as { data: { webhook_secret?: string; delivered?: boolean } }).data;
    };
    const rotated = await call("POST", "application/webhook-secret", { overlap_seconds: 0 });
    expect((await facts()).secrets.webhook_secret).toBe(rotated.webhook_secret ?? "");
    expect(await call("POST", "events/test", { event: "channel.followed" })).toMatchObject({
      delivered: true,
    });
    const elsewhere = "http://127.0.0.1:9/webhook";
    await call("PATCH", "application", { webhook_url: elsewhere });
    expect(await facts()).toMatchObject({ receiver_url, webhook_url: elsewhere });
    await call("PATCH", "application", { delivery: "stream" });
    expect(await facts()).toMatchObject({ webhook_url: null });
  });

  test("keeps its data at the second start, and does not change livestreams of others", async () => {
    ownReceiverPort();
    const first = await start();
    await first.app.data.users.keep([{ id: 9_000_001, username: "mine", followers_count: 3 }]);
    await first.app.data.channels.keep([{ id: 9_000_002, user_id: 9_000_001, slug: "mine" }]);
    const mine = { channel_id: 9_000_002, category_id: 1, viewers: 77, title: "Mine", language: "en" };
    await first.app.data.livestreams.keep([mine]);
    const [gone] = (await first.app.store.subscriptions.ofApplication(openCredentials(data).client_id)).map(
      ({ id }) => id,
    );
    await first.app.store.subscriptions.remove(openCredentials(data).client_id, [gone ?? ""], Date.now());
    const kept = openCredentials(data);
    await stop(first);

    const second = await start();
    expect(first.isNew).toBe(true);
    expect(second.isNew).toBe(false);
    expect(openCredentials(data)).toEqual(kept);
    expect(second.receiverUrl).toBe(first.receiverUrl);
    expect(await second.app.store.users.page(0, 1_000)).toHaveLength(301);
    const subscriptions = await second.app.store.subscriptions.ofApplication(kept.client_id);
    expect(subscriptions.length).toBe(29);
    expect((await second.app.store.applications.all()).length).toBe(2);
    await moved(second, 2);
    expect(
      (await second.app.store.livestreams.all()).find((one) => one.channel_id === mine.channel_id),
    ).toMatchObject(mine);
  });

  test("updates the Dev app's webhook URL when its receiver moves, but keeps one that the developer set", async () => {
    ownReceiverPort();
    const first = await start();
    const url = first.receiverUrl;
    const { client_id } = openCredentials(data);
    const webhookUrl = async (platform: DevPlatform) =>
      (await platform.app.store.applications.find(client_id))?.webhook_url;
    expect(await webhookUrl(first)).toBe(url);
    await stop(first);
    const inTheWay = Bun.serve({
      hostname: "127.0.0.1",
      port: Number(new URL(url).port),
      fetch: () => new Response(),
    });
    const second = await start();
    expect(second.receiverUrl).not.toBe(url);
    expect(await webhookUrl(second)).toBe(second.receiverUrl);
    const moved = openCredentials(data).receiver_port;
    expect(String(moved)).toBe(new URL(second.receiverUrl).port);
    const own = "http://127.0.0.1:3000/hook";
    const at = Date.parse("2026-01-14T16:00:00Z");
    await second.app.store.applications.update(client_id, { webhook_url: own }, at);
    const before = await second.app.store.applications.find(client_id);
    await stop(second);
    await inTheWay.stop(true);
    const third = await start();
    expect(await webhookUrl(third)).toBe(own);
    const after = await third.app.store.applications.find(client_id);
    // The application changes only if the port of the sample application became used or free in between.
    const isSame = Bun.deepEquals(after?.redirect_uris, before?.redirect_uris);
    expect(after?.updated_at === "2026-01-14T16:00:00.000Z").toBe(isSame);
  });

  test("renews a token that expired while the platform was stopped", async () => {
    const { access_token } = openCredentials(data);
    const ask = (platform: TestPlatform) =>
      fetch(`${platform.publicUrl}/public/v1/users/LunaBytes`, {
        headers: { authorization: `Bearer ${access_token}` },
      });
    const first = await start();
    expect((await ask(first)).status).toBe(200);
    await stop(first);
    const later = Date.now() + 61 * 24 * 3_600_000;
    const second = await start({ now: () => later });
    expect((await ask(second)).status).toBe(200);
  });
});

describe("credentials", () => {
  test("are readable by their owner only, in a directory that git ignores", () => {
    const made = openCredentials(data);
    expect(statSync(data).mode & 0o777).toBe(0o700);
    expect(statSync(join(data, "dev.json")).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(data, ".gitignore"), "utf8")).toBe("*\n");
    expect(openCredentials(data)).toEqual(made);
    expect(openCredentials(join(directory, "other"))).not.toMatchObject({
      access_token: made.access_token,
    });
  });

  test("add no .gitignore to an existing directory", () => {
    mkdirSync(data);
    openCredentials(data);
    expect(existsSync(join(data, ".gitignore"))).toBe(false);
  });

  test("that are damaged are reported, not replaced", () => {
    mkdirSync(data);
    for (const text of [
      "",
      "{",
      "{}",
      "null",
      `${JSON.stringify({ ...openCredentials(data), webhook_secret: "whsec_" })}`,
    ]) {
      writeFileSync(join(data, "dev.json"), text);
      expect(() => openCredentials(data)).toThrow("is damaged");
      expect(readFileSync(join(data, "dev.json"), "utf8")).toBe(text);
      writeFileSync(join(data, "dev.json"), JSON.stringify(openCredentials(join(directory, "spare"))));
    }
  });

  test("are not created in the data directory of a server", async () => {
    const server = await startServer({ data });
    await server.stop();
    expect(() => openCredentials(data)).toThrow('has data of "onair serve"');
    expect(existsSync(join(data, "dev.json"))).toBe(false);
  });
});
