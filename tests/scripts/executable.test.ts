import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { SignJWT } from "jose";
import { Webhook } from "standardwebhooks";
import { audience, issuer, newKey, platformKeys } from "../support/oauth.ts";
import { compiled, program, run, type ServerProcess, serve } from "../support/process.ts";
import { event, publish, subscribe } from "../support/publishing.ts";
import { categories, channels, livestreams, users } from "../support/real-data.ts";
import { Receiver } from "../support/receiver.ts";
import { type TestApplication, temporaryDirectory } from "../support/server.ts";

/**
 * The compiled executable itself, started from an empty directory. `bun run build` makes it. Its commands are tested in
 * `tests/cli`, which starts it, too.
 */
const command = compiled;
const built = existsSync(command[0] ?? "");
if (!built)
  console.warn("SKIPPED: tests of the compiled executable, because dist/onair is missing: bun run build");

const platform = platformKeys();
const { jwk, privateKey } = await newKey("first");
platform.keys = [jwk];

describe.skipIf(!built)("dist/onair", () => {
  const directory = temporaryDirectory();
  const options = { command, cwd: directory.path, env: { HOME: directory.path } };
  let server: ServerProcess;
  let receiver: Receiver;
  let application: TestApplication;

  beforeAll(async () => {
    const login = ["--login-url", "https://platform.example/login"];
    server = await serve(["--data", "data", "--allow-private-webhooks", ...platform.args, ...login], options);
    receiver = new Receiver();
    await server.load("users", users);
    await server.load("categories", categories);
    await server.load("channels", channels);
    await server.load("livestreams", livestreams);
    application = await server.application({
      name: "Bot",
      webhook_url: receiver.url,
      redirect_uris: ["https://bot.example/"],
    });
  });
  afterAll(async () => {
    await server.end("SIGKILL");
    await receiver.stop();
    directory.remove();
  });

  const get = (path: string) => server.get(path, application.token);

  test("is newer than what it is made of, so that every test starts it", () => {
    expect(program, "dist/onair is out of date: bun run build").toEqual(compiled);
  });

  test("writes nothing but its data directory", () => {
    expect(readdirSync(directory.path)).toEqual(["data"]);
  });

  // The same answers as from source: a minified identifier, for one, would silently switch validation off.
  test.each<[string, number, RegExp]>([
    ["/public/v1/users/XQCOW", 200, /"username":"xqcow"/],
    ["/public/v1/users/search?query=riot&limit=2", 200, /"riotgames".*"riotgamesbrazil"/],
    ["/public/v1/users/search?query=ri&limit=101", 400, /at least 3.*1 to 100/],
    ["/public/v1/users/search?query=riot&limit=1e1", 400, /invalid_parameter/],
    ["/public/v1/users/nobody", 404, /user_not_found/],
    ["/public/v1/users/%00", 400, /invalid_parameter/],
    ["/public/v1/categories?limit=1", 200, /"has_more":true/],
    ["/public/v1/categories?cursor=x", 400, /invalid_cursor/],
    ["/public/v1/categories/56", 200, /"top_channels":\[\{"id":1001/],
    ["/public/v1/events/subscriptions", 200, /"data":\[/],
    ["/public/v1/events/types", 200, /"chat\.message\.sent"/],
    ["/public/v1/public-key", 200, /BEGIN PUBLIC KEY/],
    ["/public/v1/public-key/standard-webhooks", 200, /whpk_/],
    ["/nothing", 404, /not_found/],
    ["/openapi.json", 200, /"openapi":"3\.1/],
    ["/docs", 200, /<h1>Documentation<\/h1>/],
    ["/docs/was-it-sent", 200, /<h1 id="was-it-sent">/],
    ["/docs/api", 200, /<section class="operation" id="getUser"/],
  ])("GET %s is %i", async (path, status, body) => {
    const response = await get(path);
    expect([response.status, await response.text()]).toEqual([status, expect.stringMatching(body)]);
  });

  test("asks for a token", async () => {
    expect((await server.get("/public/v1/users/xqcow")).status).toBe(401);
  });

  test("has its pictures inside", async () => {
    for (const name of ["profile-picture", "category-icon", "category-banner"]) {
      const response = await get(`/assets/${name}.png`);
      expect([response.status, response.headers.get("content-type")]).toEqual([200, "image/png"]);
    }
  });

  test("has its pages inside", async () => {
    const html = await (await fetch(`${server.adminUrl}/console`)).text();
    const files = [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, path]) => path ?? "");
    expect(files).toHaveLength(4);
    for (const file of files) expect((await fetch(server.adminUrl + file)).status).toBe(200);
  });

  test("takes an access token of the platform", async () => {
    const signed = await new SignJWT({ client_id: application.id, sub: "1001", scope: "users:read" })
      .setProtectedHeader({ alg: "ES256", kid: "first", typ: "at+jwt" })
      .setIssuer(issuer)
      .setAudience(audience)
      .setExpirationTime("5 minutes")
      .sign(privateKey);
    expect((await server.get("/public/v1/users/xqcow", signed)).status).toBe(200);
    const forged = `${signed.slice(0, -8)}AAAAAAAA`;
    expect((await server.get("/public/v1/users/xqcow", forged)).status).toBe(401);
  });

  test("sends a browser to sign in and shows it a page where that cannot be", async () => {
    const query = new URLSearchParams({
      response_type: "code",
      client_id: application.id,
      code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
      code_challenge_method: "S256",
    });
    const open = (path: string) =>
      fetch(server.publicUrl + path, { redirect: "manual", headers: { accept: "text/html" } });
    const sent = await open(`/oauth/authorize?${query}`);
    expect([sent.status, sent.headers.get("location")]).toEqual([
      303,
      expect.stringMatching(/^https:\/\/platform\.example\/login\?login_challenge=/),
    ]);
    const refused = await open("/oauth/authorize?login_verifier=x");
    expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining("<h1>")]);
  });

  test("delivers a webhook that verifies", async () => {
    await subscribe(server, application, ["channel.followed"]);
    const sent = event("channel.followed");
    expect((await publish(server, sent)).status).toBe(202);
    const [delivery] = await receiver.arrived(1);
    const { headers = {}, body = "" } = delivery ?? {};
    const verified = new Webhook(application.webhook_secret).verify(body, headers);
    expect(verified).toMatchObject({ data: sent.data });
  });

  test("checks events of a registered type, and streams them", async () => {
    const schema = { type: "object", required: ["winner"] };
    const type = { version: 1, schema, example: { winner: "a" } };
    expect((await server.admin("PUT", "/admin/v1/event-types/raffle.won", type)).status).toBe(200);
    const changed = await server.admin("PATCH", `/admin/v1/applications/${application.id}`, {
      delivery: "both",
    });
    expect(changed.status).toBe(200);
    await subscribe(server, application, ["raffle.won"]);
    const stream = await get("/public/v1/events/stream");
    const won = (data: object) => publish(server, event("raffle.won", { data }));
    expect((await won({})).status).toBe(400);
    expect((await won({ winner: "b" })).status).toBe(202);
    let text = "";
    const decoder = new TextDecoder();
    for await (const bytes of stream.body ?? []) {
      text += decoder.decode(bytes, { stream: true });
      if (text.includes("event: raffle.won\n")) break;
    }
    expect(text).toContain('{\\"winner\\":\\"b\\"}');
  });

  test("has the admin reference inside", async () => {
    for (const path of ["/docs", "/openapi.json"])
      expect((await fetch(server.adminUrl + path)).status).toBe(200);
  });

  test("tells one version and commit: on the command line, in the settings and in the console", async () => {
    const { version, commit } = JSON.parse((await run(["version", "--json"], options)).stdout);
    const settings = await server.admin("GET", "/admin/v1/settings");
    expect(await settings.json()).toMatchObject({ version, commit });
    const page = { "onair-page": "http", "sec-fetch-site": "same-origin" };
    const session = await server.admin("POST", "/console/session", undefined, page);
    const inWords = (await run(["version"], options)).stdout.trim().replace("onair ", "");
    expect(await session.json()).toMatchObject({ version: inWords });
  });

  test("reads neither .env nor bunfig.toml of its directory", async () => {
    await Bun.write(join(directory.path, ".env"), "ONAIR_PORT=nonsense\n");
    await Bun.write(join(directory.path, "bunfig.toml"), 'preload = ["./missing.ts"]\n');
    const result = await run(["version"], options);
    expect(result).toEqual({ code: 0, stdout: expect.stringMatching(/^onair /), stderr: "" });
    const second = await serve(["--data", "other"], options);
    expect(await second.end("SIGTERM")).toBe(0);
  });
});
