import { beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterTests } from "../support/after-tests.ts";
import { browserContext, chromium } from "../support/chromium.ts";
import { type Addresses, DevProcess } from "../support/dev.ts";
import { testListener } from "../support/listener.ts";
import { isUpToDate, run } from "../support/process.ts";
import { event, example, publish, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { testDirectory, testServer } from "../support/server.ts";
import { until } from "../support/until.ts";

/** `onair/client` as an installed package with its declarations, on Node, on Bun and in a browser. */

const root = join(import.meta.dir, "../..");
const directory = testDirectory();
const page = await Bun.file(join(root, "docs/client.md")).text();
/** The page's program. */
const bot = /```js\n(import \{ createClient, stream \}[\s\S]*?)```/.exec(page)?.[1] ?? "";
const commands: Readonly<Record<string, readonly string[]>> = {
  node: ["node"],
  bun: ["bun"],
  deno: ["deno", "run", "--allow-all"],
};
const runtimes = Object.keys(commands).filter((name) => Bun.which(name));

beforeAll(async () => {
  if (!isUpToDate(join(root, "dist/client/onair.js")))
    await Bun.$`bun scripts/build-client.ts`.cwd(root).quiet();
  mkdirSync(join(directory, "node_modules"));
  symlinkSync(root, join(directory, "node_modules/onair"));
  writeFileSync(join(directory, "package.json"), '{"type":"module"}');
});

/** A program in its own process, with the lines that it prints. */
function start(runtime: string, program: string, env: Record<string, string>) {
  const file = join(directory, `${runtime}-${Bun.hash(program)}.mjs`);
  writeFileSync(file, program);
  const child = Bun.spawn([...(commands[runtime] ?? []), file], {
    cwd: directory,
    env: { PATH: process.env["PATH"], ...env },
    stdout: "pipe",
    stderr: "inherit",
  });
  afterTests(() => child.kill());
  let output = "";
  const reading = (async () => {
    for await (const bytes of child.stdout) output += new TextDecoder().decode(bytes);
  })();
  return {
    shows: (text: string) =>
      until(
        () => output.includes(text),
        () => `${text} is not in:\n${output}`,
      ),
    output: () => output,
    stop: () => child.kill("SIGKILL"),
    ended: async () => {
      await Promise.all([reading, child.exited]);
      return { code: child.exitCode, output };
    },
  };
}

test("the package has the licences of what is inside its file", async () => {
  const text = await Bun.file(join(root, "dist/client/THIRD-PARTY-NOTICES.txt")).text();
  for (const part of ["openapi-fetch 0.", "standardwebhooks 1.", "@stablelib/base64 ", "Copyright (c)"])
    expect(text).toContain(part);
  expect(text).not.toContain("elysia");
});

test("the bot of docs/client.md has 20 lines", () => {
  const lines = bot.split("\n").filter((line) => line.trim() !== "");
  expect(lines.length).toBeLessThanOrEqual(20);
  expect(lines.length).toBeGreaterThan(10);
});

describe("the bot of docs/client.md works in onair dev", () => {
  let dev: DevProcess;
  let platform: Addresses;
  beforeAll(async () => {
    const ports = ["--port", "0", "--admin-port", "0"];
    dev = new DevProcess(["--data", join(directory, "dev"), ...ports, "--json", "--no-events"], directory);
    platform = await dev.addresses();
  });
  afterTests(() => dev?.end());

  test.each(runtimes)("on %s", async (runtime) => {
    const { public_url, admin_url, admin_key, client_id, client_secret } = platform;
    const running = start(runtime, bot, {
      ONAIR_URL: public_url,
      CLIENT_ID: client_id,
      CLIENT_SECRET: client_secret,
    });
    await running.shows(" followers");
    const trigger = async (type: string, ...args: string[]) => {
      const words = ["trigger", type, "--broadcaster", "1001", "--url", admin_url, ...args];
      expect(await run(words, { env: { ONAIR_ADMIN_KEY: admin_key } })).toMatchObject({ code: 0 });
    };
    // The stream begins with events published after it is connected.
    let isSeen = false;
    void running.shows("maya: Hello").then(() => {
      isSeen = true;
    });
    while (!isSeen)
      await trigger("chat.message.sent", "--set", "sender.username=maya", "--set", "content=Hello");
    await trigger("channel.followed", "--set", "follower.username=fox");
    await running.shows("Welcome, fox!");
  });
});

describe.each(runtimes)("on %s, against a running server", (runtime) => {
  test("calls, pages, errors, the stream and a receiver work", async () => {
    const server = await testServer();
    await server.load("users", users);
    const app = await server.application({ delivery: "both" });
    const program = `
      import { createServer } from "node:http";
      import { createClient, OnairError, receiver, stream } from "onair/client";
      const { URL: url, ID, SECRET, WEBHOOK_SECRET } = process.env;
      const onair = createClient({ url, clientId: ID, clientSecret: SECRET });
      const listener = createServer(receiver({
        secret: WEBHOOK_SECRET,
        onEvent: (event) => console.log("webhook", event.type, event.delivery.attempt),
      }).node).listen(0, "127.0.0.1", async () => {
        await onair.patch("/public/v1/application", {
          body: { webhook_url: "http://127.0.0.1:" + listener.address().port },
        });
        const search = { params: { query: { query: "riot" } } };
        console.log("found", (await onair.get("/public/v1/users/search", search)).data.length);
        for await (const page of onair.pages("/public/v1/categories")) console.log("page", page.pagination.has_more);
        await onair.get("/public/v1/users/search", { params: { query: { query: "r" } } }).catch((error) => {
          console.log(error instanceof OnairError, error.code, error.details.errors[0].field);
        });
        for await (const event of stream(onair, { connected: () => console.log("connected") })) {
          console.log("stream", event.type);
          break;
        }
        await fetch(url);
        console.log("left");
        setTimeout(() => process.exit(0), 500);
      });`;
    const running = start(runtime, program, {
      URL: server.publicUrl,
      ID: app.client_id,
      SECRET: app.client_secret,
      WEBHOOK_SECRET: app.webhook_secret,
    });
    await running.shows("connected");
    await subscribe(server, app, ["channel.followed"]);
    await publish(server, event("channel.followed"));
    await running.shows("left");
    await running.shows("webhook channel.followed 1");
    const { code, output } = await running.ended();
    expect(code).toBe(0);
    expect(output).toMatch(/^found [1-9]/m);
    expect(output).toContain("page false");
    expect(output).toContain("true invalid_parameter query");
    expect(output).toContain("stream channel.followed");
  });
});

test("the bot with a filter of docs/client.md gets only commands", async () => {
  const program = /## A bot with a filter[\s\S]*?```js\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
  const server = await testServer();
  await server.load("users", users);
  const app = await server.application({ delivery: "stream" });
  await subscribe(server, app, ["chat.message.sent"]);
  const running = start("bun", program, {
    ONAIR_URL: server.publicUrl,
    CLIENT_ID: app.client_id,
    CLIENT_SECRET: app.client_secret,
  });
  await running.shows("waiting for commands");
  for (const content of ["hello", "!uptime", "what a game", "!song"]) {
    const data = { ...(example("chat.message.sent") as object), content };
    await publish(server, event("chat.message.sent", { data }));
  }
  await running.shows(": !song");
  expect(running.output()).toContain(": !uptime");
  expect(running.output()).not.toMatch(/hello|what a game/);
});

test("the bot of docs/stream.md on four processes prints each command once, and continues after a restart", async () => {
  const stream = await Bun.file(join(root, "docs/stream.md")).text();
  const program = /^## Shards$[\s\S]*?```js\n([\s\S]*?)```/m.exec(stream)?.[1] ?? "";
  const server = await testServer();
  await server.load("users", users);
  const app = await server.application({ delivery: "stream" });
  const broadcasters = users.slice(0, 8);
  for (const { id } of broadcasters) await subscribe(server, app, ["chat.message.sent"], id);
  const begin = async (shard: string) => {
    const running = start("bun", program, {
      ONAIR_URL: server.publicUrl,
      CLIENT_ID: app.client_id,
      CLIENT_SECRET: app.client_secret,
      SHARD: shard,
    });
    await running.shows(`shard ${shard} is connected`);
    return running;
  };
  const say = async (content: string) => {
    for (const { id, username } of broadcasters) {
      const data = example("chat.message.sent") as { broadcaster: object };
      const broadcaster = { ...data.broadcaster, user_id: id, username };
      await publish(
        server,
        event("chat.message.sent", { broadcaster_user_id: id, data: { ...data, broadcaster, content } }),
      );
    }
  };
  const four = await Promise.all(["1/4", "2/4", "3/4", "4/4"].map(begin));
  await say("hello");
  await say("!raid");
  for (const { id, username } of broadcasters) await four[id % 4]?.shows(`in ${username}: !raid`);
  four[0]?.stop();
  await say("!again");
  const next = await begin("1/4");
  const isFirst = ({ id }: { id: number }) => id % 4 === 0;
  for (const { username } of broadcasters.filter(isFirst)) await next.shows(`in ${username}: !again`);
  for (const { id, username } of broadcasters.filter((one) => !isFirst(one)))
    await four[id % 4]?.shows(`in ${username}: !again`);
  const raids = four.map(({ output }) => output().match(/: !raid$/gm)?.length ?? 0);
  expect(raids.reduce((sum, count) => sum + count)).toBe(broadcasters.length);
  expect(four.some(({ output }) => output().includes("hello"))).toBe(false);
});

describe.skipIf(chromium === null)("in a browser", () => {
  test("calls with a token and the stream work on a page of another origin", async () => {
    const server = await testServer();
    await server.load("users", users);
    const app = await server.application({ delivery: "stream" });
    await subscribe(server, app, ["channel.followed"]);
    const script = `
      import { createClient, stream } from "/onair.js";
      const onair = createClient({ url: ${JSON.stringify(server.publicUrl)}, token: "${app.token}" });
      const { data } = await onair.get("/public/v1/events/subscriptions");
      const connected = () => { document.title = "connected " + data.length; };
      for await (const event of stream(onair, { connected })) {
        document.title = event.type + " " + event.delivery.id.length;
        break;
      }`;
    const files = testListener(({ url }) =>
      new URL(url).pathname === "/onair.js"
        ? new Response(Bun.file(join(root, "dist/client/onair.js")))
        : new Response(`<!doctype html><script type="module">${script}</script>`, {
            headers: { "content-type": "text/html" },
          }),
    );
    const context = await browserContext();
    afterTests(() => context.close());
    const tab = await context.newPage();
    await tab.goto(files.url);
    await until(async () => (await tab.title()) === "connected 1");
    await publish(server, event("channel.followed"));
    await until(async () => (await tab.title()) === "channel.followed 26");
  });
});

test("the declarations know paths, fields and events, and refuse those that the API does not have", async () => {
  writeFileSync(
    join(directory, "right.ts"),
    `import { createClient, receiver, stream, type PlatformEvent } from "onair/client";
      const onair = createClient({ url: "http://a", clientId: "a", clientSecret: "b" });
      const { user } = await onair.get("/public/v1/users/{username}", { params: { path: { username: "a" } } });
      const count: number = user.followers_count;
      for await (const page of onair.pages("/public/v1/events/deliveries")) page.data[0]?.attempts;
      interface RaffleWon { type: "raffle.won"; version: 1; timestamp: string; data: { winner: string } }
      for await (const event of stream<RaffleWon>(onair)) {
        if (event.type === "chat.message.sent") event.data.content.length;
        else if (event.type === "raffle.won") event.data.winner.length;
        else if (event.type === "gap") event.data.from.length;
        else if (event.type === "endpoint.failing") event.data.summary.length;
      }
      const handler = receiver({ secret: "whsec_a", onEvent(event) {
        if (event.type === "kicks.gifted") return event.delivery.sequence + count;
        return exhaustive(event);
      } });
      function exhaustive(event: PlatformEvent): string { return event.type; }
      const answer: Promise<Response> = handler(new Request("http://a"));
      export { answer };`,
  );
  writeFileSync(
    join(directory, "wrong.ts"),
    `import { createClient, stream } from "onair/client";
      const onair = createClient({ url: "http://a" });
      await onair.get("/public/v1/nothing");
      await onair.get("/public/v1/users/{username}");
      await onair.post("/public/v1/categories");
      onair.pages("/public/v1/events/types");
      for await (const event of stream(onair)) if (event.type === "chat.message.sent") event.data.contents;
      export {};`,
  );
  const options = ["--ignoreConfig", "--noEmit", "--strict", "--skipLibCheck", "--types", ""];
  const modules = ["--target", "es2023", "--lib", "es2023,dom,dom.asynciterable", "--module", "nodenext"];
  const tsc = [join(root, "node_modules/.bin/tsc"), ...options, ...modules, "right.ts", "wrong.ts"];
  const found = await Bun.spawn(tsc, { cwd: directory, stdout: "pipe" }).stdout.text();
  const places = [...found.matchAll(/^(\S+)\((\d+),/gm)].map(([, file, line]) => `${file} ${line}`);
  expect(places).toEqual([3, 4, 5, 6, 7].map((line) => `wrong.ts ${line}`));
});
