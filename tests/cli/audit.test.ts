import { expect, test } from "bun:test";
import { printedJson, run } from "../support/process.ts";
import { categories, channels, livestreams, users } from "../support/real-data.ts";
import { adminKey, ndjson, ownDirectory, startServer, testServer } from "../support/server.ts";

const server = await testServer();
const env = { ONAIR_ADMIN_KEY: adminKey, ONAIR_URL: server.adminUrl };
const { id } = await server.application({ name: "Audited" });
await server.admin("PATCH", `/admin/v1/applications/${id}`, { rate_limit: 5 });

interface List {
  readonly data: readonly object[];
}

test("lists changes with their actors, newest first, and applies filters", async () => {
  const { code, stdout } = await run(["audit"], { env });
  expect(code).toBe(0);
  const [head, first, second] = stdout.split("\n");
  expect(head?.split(/ {2,}/)).toEqual(["AT", "WHO", "ACTION", "OBJECT", "CHANGES", "FROM"]);
  expect(first?.split(/ {2,}/).slice(1, -1)).toEqual([
    "ONAIR_ADMIN_KEY",
    "Changed application",
    `applications Audited (${id})`,
    "rate_limit set to 5",
  ]);
  expect(second).toContain("Created application");
  const filtered = await printedJson<List>(["audit", "--action", "createApplication"], { env });
  expect(filtered.data).toHaveLength(1);
  const counts = async (...filter: string[]) =>
    (await printedJson<List>(["audit", ...filter], { env })).data.length;
  for (const name of ["Audited", id]) expect(await counts("--application", name)).toBe(2);
  expect(await counts("--application", "Audited", "--key", "ONAIR_ADMIN_KEY")).toBe(2);
  expect(await counts("--user", "Audited")).toBe(0);
  const none = await run(["audit", "--since", "1h", "--key", "nobody"], { env });
  expect([none.code, none.stdout, none.stderr]).toEqual([0, "", "There are no such changes.\n"]);
});

test("says what was empty before or is empty after, and what was replaced", async () => {
  const { id } = await server.application({ name: "Emptied", webhook_url: "https://one.example/" });
  const path = `/admin/v1/applications/${id}`;
  for (const webhook_url of ["https://two.example/", null])
    await server.admin("PATCH", path, { webhook_url });
  const { stdout } = await run(["audit", "--application", id], { env });
  const changes = stdout.split("\n").map((line) => line.split(/ {2,}/)[4] ?? "");
  expect(changes[1]).toBe("webhook_url removed, was https://two.example/");
  expect(changes[2]).toBe("webhook_url: https://one.example/ → https://two.example/");
  expect(changes[3]).toContain("webhook_url set to https://one.example/");
});

test("--action takes the words of the list in any case, and suggests the nearest for a mistyped one", async () => {
  const counts = async (action: string) =>
    (await printedJson<List>(["audit", "--application", id, "--action", action], { env })).data.length;
  for (const action of ["changeApplication", "Changed application", "changed APPLICATION"])
    expect([action, await counts(action)]).toEqual([action, 1]);
  const { code, stderr } = await run(["audit", "--action", "Chnaged application"], { env });
  expect([code, stderr]).toEqual([2, expect.stringContaining("Did you mean Changed application?")]);
  const part = await run(["audit", "--action", "replay"], { env });
  expect(part.stderr).toContain("There are: Started replay, Canceled replay.");
});

test("shows the counts of a snapshot of livestreams", async () => {
  await server.load("users", users);
  await server.load("categories", categories);
  await server.load("channels", channels);
  await server.load("livestreams", livestreams);
  const file = `${ownDirectory()}/snapshot.ndjson`;
  await Bun.write(file, ndjson(livestreams.slice(0, 2)));
  expect((await run(["import", "livestreams", file, "--snapshot"], { env })).code).toBe(0);
  const { stdout } = await run(["audit", "--action", "putLivestreams"], { env });
  const ended = livestreams.length - 2;
  expect(stdout).toContain(`  Reported livestreams (snapshot: 2 accepted, ${ended} ended)  livestreams  `);
  expect(stdout.match(/snapshot/g)).toHaveLength(1);
});

test.each([
  [["--after", "yesterday"], 1, "--after"],
  [["--since", "1h", "--after", "2026-01-14T16:00:00Z"], 2, "--since excludes"],
  [["more"], 2, "more"],
])("%p is wrong", async (args, code, message) => {
  const result = await run(["audit", ...args], { env });
  expect(result.code).toBe(code);
  expect(result.stderr).toContain(message);
});

test("a command in the data directory is recorded as such", async () => {
  const directory = ownDirectory();
  await (await startServer({ data: directory })).app.stop();
  const at = ["--data", directory];
  expect((await run(["apps", "create", "--name", "Offline", ...at])).code).toBe(0);
  const [entry] = (await printedJson<List>(["audit", ...at])).data;
  expect(entry).toMatchObject({ actor: { id: "command-line" }, action: "createApplication", address: "" });
});
