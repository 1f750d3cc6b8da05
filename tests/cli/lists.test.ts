import { describe, expect, test } from "bun:test";
import { expectFailure, onTerminal, printedJson, program, run } from "../support/process.ts";
import { event, publishAll, settled, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { testReceiver } from "../support/receiver.ts";
import { adminKey, testDirectory, testServer } from "../support/server.ts";

const directory = testDirectory();
const receiver = testReceiver(() => new Response(null, { status }));
let status = 204;
const applications = 130;
const deliveries = 130;

const server = await testServer({ data: directory });
const env = { ONAIR_ADMIN_KEY: adminKey, ONAIR_URL: server.adminUrl };
await server.load("users", users);
const app = await server.application({ name: "日本語の名前", webhook_url: receiver.url });
for (let i = 1; i < applications; i++)
  await server.admin("POST", "/admin/v1/applications", { name: `App ${i}` });
await subscribe(server, app, ["kicks.gifted"]);
await publishAll(
  server,
  Array.from({ length: deliveries }, () => event("kicks.gifted")),
);
await receiver.arrived(deliveries);
await settled(server);

const onair = (...args: string[]) => run(args, { env });
interface List {
  readonly data: readonly { readonly id: string }[];
  readonly pagination: { readonly cursor: string; readonly has_more: boolean };
}
const listed = (...args: string[]) => printedJson<List>(args, { env });

describe.each([
  ["apps", applications],
  ["deliveries", deliveries],
])("onair %s list", (command, all) => {
  test.each<[string[], number]>([
    [[], 25],
    [["--limit", "1"], 1],
    [["--limit", "101"], 101],
    [["--limit", "1000"], all],
    [["--all"], all],
  ])("%j follows cursors", async (args, count) => {
    const { data, pagination } = await listed(command, "list", ...args);
    expect(new Set(data.map(({ id }) => id)).size).toBe(count);
    expect(pagination.has_more).toBe(count < all);
    const { stdout, stderr } = await onair(command, "list", ...args);
    expect(stdout.trimEnd().split("\n")).toHaveLength(count + 1);
    expect(stdout.match(/^ID /gm)).toHaveLength(1);
    if (count === all) expect(stderr).toBe("");
    else expect(stderr).toMatch(/^There are more: use --all, or continue with --cursor=\S+\n$/);
  });

  test("--cursor continues where a list ended", async () => {
    const first = await listed(command, "list", "--limit", "7");
    const rest = await listed(command, "list", "--all", `--cursor=${first.pagination.cursor}`);
    const whole = await listed(command, "list", "--all");
    expect([...first.data, ...rest.data].map(({ id }) => id)).toEqual(whole.data.map(({ id }) => id));
  });
});

test("wide characters take two columns", async () => {
  const { stdout } = await onair("apps", "list", "--limit", "2");
  const [header = "", ...rows] = stdout.trimEnd().split("\n");
  const column = Bun.stringWidth(header.slice(0, header.indexOf("WEBHOOK")));
  expect(rows.map((row) => Bun.stringWidth(row.slice(0, row.search(/(http|-)[^ ]*$/))))).toEqual([
    column,
    column,
  ]);
});

test.each<[string[], string]>([
  [
    ["deliveries", "list", "--status", "failed"],
    "There are no such deliveries. A delivery that will be attempted again is pending: see --status failing.\n",
  ],
  [["deliveries", "list", "--type", "no.such"], "There are no such deliveries.\n"],
])("%j is empty and says so", async (args, said) => {
  expect(await onair(...args)).toEqual({ code: 0, stdout: "", stderr: said });
});

test("an application without tokens or deliveries has empty lists, and is not reported as unknown", async () => {
  const { data } = await listed("apps", "list", "--limit", "2");
  const id = data[1]?.id ?? "";
  expect((await onair("tokens", "list", id)).stderr).toBe("The application has no access tokens.\n");
  const none = await onair("deliveries", "list", "--application", id);
  expect([none.code, none.stderr]).toEqual([0, "There are no such deliveries.\n"]);
  expectFailure(
    await onair("deliveries", "list", "--application", "01KATHZX5M9S3E6R8B2D4F7G1H"),
    1,
    "--application is not an application",
  );
});

describe("which server or directory", () => {
  test.each<[string, string[], Record<string, string>, RegExp]>([
    ["--data wins over ONAIR_URL", ["--data", "/nowhere-at-all"], {}, /There is no data in \/nowhere-at-all/],
    ["--url wins over ONAIR_URL", ["--url", "http://127.0.0.1:1"], {}, /127\.0\.0\.1:1 cannot be reached/],
    ["ONAIR_URL without a key", [], { ONAIR_ADMIN_KEY: "" }, /ONAIR_URL needs an operator key/],
    [
      "ONAIR_URL that is none",
      [],
      { ONAIR_URL: "here" },
      /ONAIR_URL must be an http or https URL, .* not "here"/,
    ],
    [
      "a wrong key",
      [],
      { ONAIR_ADMIN_KEY: "wrong-key" },
      /revoked or expired\. ONAIR_ADMIN_KEY must hold a valid operator key\./,
    ],
  ])("%s", async (_, args, more, message) => {
    const { code, stderr } = await run(["apps", "list", ...args], { env: { ...env, ...more } });
    expect([code > 0, stderr]).toEqual([true, expect.stringMatching(message)]);
  });
});

describe("repeated deliveries", () => {
  const one = async () => (await listed("deliveries", "list", "--limit", "1")).data[0]?.id ?? "";

  test("retry prints how to follow it; --wait waits for the attempt, and exits with 1 if it failed", async () => {
    const id = await one();
    const plain = await onair("deliveries", "retry", id);
    expect([plain.code, plain.stderr]).toEqual([
      0,
      expect.stringContaining(`To see the result: onair deliveries show ${id}`),
    ]);
    await settled(server);
    const good = await onair("deliveries", "retry", id, "--wait");
    expect([good.code, good.stderr]).toEqual([0, "The delivery succeeded.\n"]);
    status = 500;
    const bad = await onair("deliveries", "retry", id, "--wait");
    status = 204;
    expect(bad.code).toBe(1);
    expect(bad.stdout).toMatch(/ 500 /);
    expect(bad.stderr).toContain("The answer was 500.");
    // From then on nothing is pending, which a retry would change.
    expect((await onair("deliveries", "retry", id, "--wait")).code).toBe(0);
  });

  test("--wait is refused for a directory that no server uses", async () => {
    expectFailure(
      await run(["deliveries", "retry", "x", "--wait", "--data", directory], {
        env,
      }),
      2,
      "--wait needs a running server",
    );
  });
});

describe("on a terminal", () => {
  const shownOnTerminal = async (more: Record<string, string>, ...args: string[]) => {
    const command = onTerminal(["stty cols 90; exec", ...program, ...args].join(" "));
    const { stdout } = await run([], { command, env: { TERM: "xterm-256color", ...env, ...more } });
    return stdout.replaceAll("\r", "");
  };

  test("states are coloured and lines fit its width; with NO_COLOR lines only fit", async () => {
    const coloured = await shownOnTerminal({}, "deliveries", "list", "--limit", "2");
    expect(coloured).toContain("\x1b[32mdelivered\x1b[39m");
    const rows = coloured.split("\n").filter((line) => !line.startsWith("There are more"));
    expect(Math.max(...rows.map((line) => Bun.stringWidth(line)))).toBe(90);
    const plain = await shownOnTerminal({ NO_COLOR: "1" }, "deliveries", "list", "--limit", "2");
    expect(plain).not.toContain("\x1b");
    expect(plain).toBe(Bun.stripANSI(coloured));
  });
});
