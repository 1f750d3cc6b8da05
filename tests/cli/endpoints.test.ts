import { expect, test } from "bun:test";
import { ownListener } from "../support/listener.ts";
import { expectFailure, printedJson, run } from "../support/process.ts";
import { event, publish, settled, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { testReceiver } from "../support/receiver.ts";
import { adminKey, testServer } from "../support/server.ts";

/** Answers 410 until a test changes it. */
const receiver = testReceiver(() => new Response(null, { status }));
let status = 410;

const server = await testServer({ users });
const app = await server.application({ name: "Gone", webhook_url: receiver.url });
await server.application({ name: "Silent" });
await server.application({ name: "Reader", webhook_url: receiver.url, delivery: "stream" });
await subscribe(server, app, ["kicks.gifted"]);
await publish(server, event("kicks.gifted"));
await receiver.arrived(1);
await settled(server);

const env = { ONAIR_ADMIN_KEY: adminKey };
const to = ["--url", server.adminUrl];
const apps = (...args: string[]) => run(["apps", ...args, ...to], { env });
const answered = <T>(...args: string[]) => printedJson<T>(["apps", ...args, ...to], { env });
const shown = async () => (await answered<{ endpoint: object }>("show", app.id)).endpoint;

test("list and show print the state of the endpoint beside that of the application", async () => {
  const { stdout } = await apps("list");
  expect(stdout).toMatch(new RegExp(`^${app.id}  enabled +disabled \\(gone\\) +Gone +http`, "m"));
  expect(stdout).toMatch(/ enabled +no URL +Silent +-$/m);
  expect(stdout).toMatch(/ enabled +stream only +Reader +http/m);
  const { data } = await answered<{ data: { endpoint: object }[] }>("list");
  expect(data[0]?.endpoint).toEqual({ status: "disabled", disabled_reason: "gone" });
  expect(await shown()).toMatchObject({ status: "disabled", disabled_reason: "gone", failures: 1 });
  expect((await apps("show", app.id)).stdout).toMatch(/^endpoint +disabled since .*Z: it answered 410$/m);
});

test("list makes one request for each page", async () => {
  const requests: string[] = [];
  const admin = ownListener((request) => {
    const { pathname, search } = new URL(request.url);
    requests.push(pathname + search);
    return fetch(server.adminUrl + pathname + search, { headers: request.headers });
  });
  const { stdout } = await run(["apps", "list", "--all", "--url", admin.url], { env });
  expect(stdout).toContain("disabled (gone)");
  expect(requests).toEqual(["/admin/v1/applications?limit=100"]);
});

test("change --enable says that the endpoint stays disabled, and what enables it", async () => {
  expect((await apps("change", app.id, "--disable")).stderr).toBe("");
  const { code, stdout, stderr } = await apps("change", app.id, "--enable");
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^disabled +false$/m)]);
  expect(stderr).toContain("its endpoint is still disabled, because it answered 410");
  expect(stderr).toContain(
    `To send to it again: onair apps enable-endpoint ${app.id} --url ${server.adminUrl}`,
  );
  expect(await shown()).toMatchObject({ status: "disabled" });
});

test("enable-endpoint enables it, and change --enable then prints no hint", async () => {
  status = 204;
  const { code, stdout } = await apps("enable-endpoint", app.id);
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^status +enabled$/m)]);
  expect(await shown()).toMatchObject({ status: "enabled", disabled_reason: null });
  expect((await apps("list")).stdout).toMatch(new RegExp(`^${app.id}  enabled +enabled +Gone`, "m"));
  expect((await apps("change", app.id, "--enable")).stderr).toBe("");
  expectFailure(await apps("enable-endpoint", "01KATHZX5M9S3E6R8B2D4F7G1H"), 1, "There is no application");
});
