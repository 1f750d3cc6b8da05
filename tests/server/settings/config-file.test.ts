import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkConfig, readConfig } from "../../../src/server/settings/read-config.ts";
import { run } from "../../support/process.ts";
import { testDirectory } from "../../support/server.ts";

const directory = testDirectory();
let files = 0;

/** A configuration file with this content. */
function fileWith(content: string): string {
  const path = join(directory, `${++files}.toml`);
  writeFileSync(path, content);
  return path;
}

test("each kind of value is read: text, integer, switch, list, table, and a file with a secret", () => {
  const secret = join(directory, "key");
  writeFileSync(secret, "an-operator-key-of-the-test\n");
  const file = fileWith(`
    port = 9000
    public-url = "https://api.example.com"
    allow-private-webhooks = true
    trusted-proxies = ["10.0.0.0/8", "::1"]
    admin-key-file = "${secret}"
    [time-to-live]
    "chat.message.sent" = 60
    "kicks.gifted" = 0
  `);
  expect(readConfig(["--config", file], {})).toMatchObject({
    config: file,
    port: 9000,
    publicUrl: "https://api.example.com",
    allowPrivateWebhooks: true,
    trustedProxies: ["10.0.0.0/8", "::1"],
    adminKey: "an-operator-key-of-the-test",
    timeToLive: { "chat.message.sent": 60, "kicks.gifted": 0 },
  });
});

test("for every setting that names a file, a mistake in that file is reported with the setting's line", () => {
  const file = fileWith('tls-cert = "/none/cert"\ntls-key = "/none/key"\n');
  expect(checkConfig(["--config", file], {}).mistakes).toEqual([
    `${file}:1 tls-cert names /none/cert, which does not exist`,
    `${file}:2 tls-key names /none/key, which does not exist`,
  ]);
  expect(checkConfig(["--config", file, "--tls-key", "/x"], {}).mistakes[1]).toStartWith(
    "--tls-key names /x",
  );
});

test("options override variables, variables the file, and the file the defaults", () => {
  const file = fileWith("port = 1\nadmin-port = 2\nrate-limit = 3\n");
  const env = { ONAIR_CONFIG: file, ONAIR_PORT: "11", ONAIR_ADMIN_PORT: "12" };
  const { config, sources } = checkConfig(["--port", "21"], env, { streamLimit: "7", rateLimit: "8" });
  expect(config).toMatchObject({ port: 21, adminPort: 12, rateLimit: 3, streamLimit: 7 });
  expect(sources).toMatchObject({
    port: "--port",
    adminPort: "ONAIR_ADMIN_PORT",
    rateLimit: `${file}:3 rate-limit`,
    streamLimit: "default",
  });
});

test.each<[string, string, RegExp[]]>([
  [
    "a misspelt name",
    "port = 1\n\nrate-limt = 3\n",
    [/:3 rate-limt is not a setting\. Did you mean rate-limit\?\n {4}rate-limt = 3$/],
  ],
  [
    "a value out of range",
    "\nport = 99999",
    [/:2 port must be an integer from 0 to 65535\n {4}port = 99999$/],
  ],
  ["a value of the wrong kind", "port = 1.5", [/:1 port must be a string, an integer, true or false/]],
  ["a time", "port = 2026-01-01", [/:1 port must be a string/]],
  ["what is not TOML", 'host = "::1"\nport = \nrate-limit = 3', [/:2 is not TOML: .*\n {4}port =$/]],
  [
    "a text without quotes",
    "portal = yes",
    [/:1 is not TOML: .*\(put text in quotes; .*\)\n {4}portal = yes$/],
  ],
  [
    "a misspelt name before invalid TOML",
    'port = 1\ntls-kye = "k"\nportal = yes\n[keep-by-type]\nother = "1d"\n',
    [/:2 tls-kye is not a setting\. Did you mean tls-key\?/, /:3 is not TOML/],
  ],
  [
    "a missing file of a secret",
    'admin-key-file = "/none/key"',
    [/:1 admin-key-file cannot be read: it names \/none\/key, which does not exist\n/],
  ],
  ["a name twice", "port = 1\nport = 2", [/:2 is not TOML: .*redefine/]],
  ["a table that is not a setting", "[server]\nport = 1", [/:1 server is not a setting/]],
  [
    "settings after a table",
    'port = 1\n[time-to-live]\n"chat.message.sent" = 600\nportal = true\nport = 2\nadmin-key-file = "/k"',
    [
      /:4 portal is a setting: move it above \[time-to-live\]\n {4}portal = true$/,
      /:5 port is a setting: move it above \[time-to-live\]\n {4}port = 2$/,
      /:6 admin-key-file is a setting: move it above \[time-to-live\]\n {4}admin-key-file = …$/,
    ],
  ],
  [
    "a setting in a table on one line",
    "time-to-live = { rate-limit = 100 }",
    [/:1 rate-limit is a setting: move it above \[time-to-live\]/],
  ],
  ["a file in a file", 'config = "other.toml"', [/:1 config is not a setting/]],
  [
    "everything at once",
    "prot = 1\nstream-limit = 0\n",
    [/:1 prot is not a setting/, /:2 stream-limit must be/],
  ],
  [
    "data in a directory and in a database",
    'data = "x"\ndatabase = "postgres://onair@db.example.com/onair"',
    [/:1 data and .*:2 database contradict each other/],
  ],
])("%s is reported with its line", (_what, content, wanted) => {
  const { mistakes } = checkConfig(["--config", fileWith(content)], {});
  expect(mistakes).toHaveLength(wanted.length);
  for (const [at, pattern] of wanted.entries()) expect(mistakes[at]).toMatch(pattern);
});

test.each([
  ['admin-key = "swordfish-swordfish"', /has the secret admin-key: put the secret into its own file/],
  ['database = "postgres://onair:swordfish@db.example.com/onair"', /database .*password/],
  ['admin-key-file = "swordfish', /is not TOML/],
  ['databse = "postgres://onair:a/swordfish@db.example.com/onair"', /databse is not a setting/],
])("a secret in the file is refused, and not repeated: %s", (line, sentence) => {
  const { mistakes } = checkConfig(["--config", fileWith(line)], {});
  expect(mistakes).toHaveLength(1);
  expect(mistakes[0]).toMatch(sentence);
  expect(mistakes[0]).not.toContain("swordfish");
});

test("the error about an unreadable file names the option or variable that gave it", () => {
  const large = fileWith(`# ${"x".repeat(64 * 1024)}`);
  mkdirSync(join(directory, "folder"), { recursive: true });
  const mistakesOf = (path: string) => checkConfig([], { ONAIR_CONFIG: path }).mistakes;
  expect(mistakesOf("/none.toml")).toEqual(["ONAIR_CONFIG names /none.toml, which does not exist"]);
  expect(mistakesOf(large)).toEqual([`ONAIR_CONFIG names ${large}, which has more than 65536 bytes`]);
  expect(mistakesOf(join(directory, "folder"))[0]).toMatch(/which is a directory/);
  expect(checkConfig(["--config", "/none.toml"], {}).mistakes[0]).toStartWith("--config names");
});

test("onair config check reports mistakes with exit code 2, and confirms a correct file", async () => {
  const right = await run(["config", "check", "--config", fileWith("port = 1\n")]);
  expect(right).toMatchObject({ code: 0, stdout: "The settings are correct.\n" });
  const wrong = await run(["config", "check", "--config", fileWith("port = 99999\n")]);
  expect(wrong).toMatchObject({ code: 2, stdout: "" });
  expect(wrong.stderr).toContain("port must be an integer");
});

test("onair config warns of unknown variables, and suggests similar ones", async () => {
  const warning =
    "ONAIR_PROT is not a setting, so it has no effect\n  → rename it to ONAIR_PORT\n" +
    "ONAIR_IMAGE_TAG is not a setting of this version\n  → unset it, unless another program uses it\n";
  const env = { ONAIR_PROT: "1", ONAIR_IMAGE_TAG: "3", ONAIR_URL: "http://127.0.0.1:1" };
  expect(await run(["config", "check"], { env })).toEqual({ code: 1, stdout: "", stderr: warning });
  expect(await run(["config", "show"], { env })).toMatchObject({ code: 0, stderr: warning });
  const mistaken = await run(["config", "check", "--port=x"], { env });
  expect(mistaken).toMatchObject({ code: 2, stderr: expect.stringContaining(warning) });
});

test.each<[string, Record<string, string>, boolean]>([
  ["without credentials", {}, true],
  ["with half of them", { AWS_ACCESS_KEY_ID: "id" }, true],
  ["with those of the variables", { AWS_ACCESS_KEY_ID: "id", AWS_SECRET_ACCESS_KEY: "swordfish" }, false],
  ["with those of a profile", { AWS_PROFILE: "kept" }, false],
])("onair config check of backups to S3 %s", async (_, variables, isReported) => {
  const credentials = join(directory, "credentials");
  writeFileSync(credentials, "[kept]\naws_access_key_id = id\naws_secret_access_key = swordfish\n");
  const env = { AWS_SHARED_CREDENTIALS_FILE: credentials, ...variables };
  const warning =
    "backup-to is s3://bucket/onair. No credentials for S3: set AWS_ACCESS_KEY_ID and " +
    `AWS_SECRET_ACCESS_KEY, or write them into ${credentials} under [default].\n  → if only the service has them in its environment, that is fine\n`;
  const args = ["config", "check", "--backup-to", "s3://bucket/onair"];
  const right = { code: 0, stdout: "The settings are correct.\n" };
  expect(await run(args, { env })).toEqual({ ...right, stderr: isReported ? warning : "" });
  expect(await run(["config", "check", "--backup-to", directory], { env })).toEqual({ ...right, stderr: "" });
});

test.each<[string, { option?: string; variable?: string; line?: string }, boolean]>([
  ["an option over the file", { option: "--portal=false", line: "portal = true" }, false],
  ["an option over a variable", { option: "--portal=false", variable: "true" }, false],
  ["a bare option over a variable", { option: "--portal", variable: "false" }, true],
  ["an option that says true", { option: "--portal=true", line: "portal = false" }, true],
  ["a variable over the file", { variable: "false", line: "portal = true" }, false],
])("a switch can be set both ways by %s", (_, { option, variable, line = "" }, expected) => {
  const args = ["--config", fileWith(line), ...(option === undefined ? [] : [option])];
  const { config, mistakes } = checkConfig(args, variable === undefined ? {} : { ONAIR_PORTAL: variable });
  expect([config.portal, mistakes]).toEqual([expected, []]);
});

test("onair config show lists all settings with their source, and no secret", async () => {
  const file = fileWith("rate-limit = 3\n");
  const env = { ONAIR_ADMIN_KEY: "swordfish-swordfish", ONAIR_PORT: "9" };
  const shown = await run(["config", "show", "--config", file, "--json"], { env });
  const { data: list }: { data: { name: string; value: string; source: string }[] } = JSON.parse(
    shown.stdout,
  );
  const of = (name: string) => list.find((one) => one.name === name);
  expect(of("rate-limit")).toMatchObject({ value: "3", source: `${file}:1 rate-limit` });
  expect(of("port")).toMatchObject({ value: "9", source: "ONAIR_PORT" });
  expect(of("admin-key")).toMatchObject({ value: "set", source: "ONAIR_ADMIN_KEY" });
  expect(of("host")).toMatchObject({ value: "127.0.0.1", source: "default" });
  expect(shown.stdout).not.toContain("swordfish");
});
