import { describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { candidatesFor } from "../../src/cli/completion.ts";
import { commands } from "../../src/cli/program.ts";
import { program, run } from "../support/process.ts";
import { testDirectory } from "../support/server.ts";

const directory = testDirectory();
const profiles = join(directory, "onair", "profiles");
mkdirSync(profiles, { recursive: true });
for (const name of ["default", "staging", "(", "$(touch stolen)"])
  writeFileSync(join(profiles, `${name}.json`), "{}");
const env = { XDG_CONFIG_HOME: directory };

const words = async (...typed: string[]) =>
  (await candidatesFor(commands, typed, env)).map(({ word }) => word);

describe("offered completions", () => {
  test.each<[string[], string[]]>([
    [["de"], ["dev", "deliveries"]],
    [["vers"], ["version"]],
    [["help", "se"], ["serve"]],
    [
      ["deliveries", ""],
      ["list", "show", "retry", "replay", "release"],
    ],
    [
      ["deliveries", "re"],
      ["retry", "replay", "release"],
    ],
    [["deliveries", "list", "--st"], ["--status"]],
    [
      ["deliveries", "list", "--status", "f"],
      ["failed", "failing"],
    ],
    [["deliveries", "--status", "failed", "l"], ["list"]],
    [
      ["deliveries", "list", "--status=f"],
      ["--status=failed", "--status=failing"],
    ],
    [["deliveries", "--status=failed", "l"], ["list"]],
    [["serve", "--portal="], []],
    [["serve", "--config="], []],
    [["deliveries", "list", "--type", "kicks"], ["kicks.gifted"]],
    [
      ["listen", "--profile", ""],
      ["default", "staging"],
    ],
    [["trigger", "chat"], ["chat.message.sent"]],
    [["subscriptions", "create", "kicks"], ["kicks.gifted"]],
    [["app", "change", "--delivery", "b"], ["both"]],
    [["import", "us"], ["users"]],
    [["serve", "--log-l"], ["--log-level"]],
    [["serve", "--log-level", "w"], ["warn"]],
    [["serve", "--admin-k"], []],
    [
      ["completion", ""],
      ["bash", "zsh", "fish"],
    ],
  ])("%j", async (typed, offered) => {
    expect(await words(...typed)).toEqual(offered);
  });

  test("only options of the action, if nothing else can follow", async () => {
    expect(await words("apps", "list", "")).toContain("--cursor");
    expect(await words("listen", "")).toContain("--forward");
  });

  test.each<[string[], string[], string[]]>([
    [
      ["apps", "list"],
      ["--limit", "--url", "--json", "--help"],
      ["--name", "--overlap", "--disable"],
    ],
    [
      ["apps", "change"],
      ["--name", "--disable", "--url"],
      ["--limit", "--public", "--overlap"],
    ],
    [
      ["apps", "rotate-webhook-secret"],
      ["--overlap", "--json"],
      ["--name", "--cursor"],
    ],
    [
      ["deliveries", "show"],
      ["--json", "--profile"],
      ["--status", "--follow", "--dry-run"],
    ],
    [
      ["deliveries", "replay"],
      ["--from", "--status"],
      ["--after", "--follow", "--event"],
    ],
    [["subscriptions", "list"], ["--profile"], ["--broadcaster", "--version"]],
    [["events", "types"], ["--url"], ["--idempotency-key"]],
    [["apps"], ["--name", "--limit", "--overlap", "--url"], []],
  ])("no options of other actions are offered: %j", async (typed, offered, others) => {
    const found = await words(...typed, "--");
    expect(found).toEqual(expect.arrayContaining(offered));
    expect(found.filter((word) => others.includes(word))).toEqual([]);
  });

  test.each([
    [["import", "users", ""]],
    [["restore", ""]],
    [["openapi", "--out", ""]],
    [["no-such-command", ""]],
    [["constructor", ""]],
    [["listen", "--", ""]],
  ])("nothing is offered for %j, so that the shell completes files", async (typed) => {
    expect(await words(...typed)).toEqual([]);
  });

  test("commands, actions and options have the same descriptions as in the help", async () => {
    const meaning = async (...typed: string[]) => (await candidatesFor(commands, typed, env))[0]?.meaning;
    expect(await meaning("backu")).toStartWith("make a backup of the whole database");
    expect(await meaning("deliveries", "sho")).toStartWith("shows a delivery: its attempts");
    expect(await meaning("trigger", "--onc")).toStartWith("with --forward: only send the event");
  });
});

describe("in the shell itself", () => {
  const bin = join(directory, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "onair"), `#!/bin/sh\nexec ${program.join(" ")} "$@"\n`);
  chmodSync(join(bin, "onair"), 0o755);
  const shell = async (command: string[], script: string) => {
    const path = `${bin}:${process.env["PATH"]}`;
    const { stdout, stderr } = await run([script], { command, env: { PATH: path, HOME: directory, ...env } });
    expect(stderr).toBe("");
    return stdout.trimEnd().split("\n").sort();
  };
  const offered = ["release", "replay", "retry"];

  test("bash", async () => {
    const script = `source <(onair completion bash); COMP_WORDS=(onair deliveries re); COMP_CWORD=2; _onair
      printf '%s\\n' "\${COMPREPLY[@]}"; complete -p onair`;
    expect(await shell(["bash", "-c"], script)).toEqual(["complete -o default -F _onair onair", ...offered]);
  });

  test.each([
    ["onair deliveries list --status = f", ["failed", "failing"]],
    ["onair apps create --delivery =", ["both", "stream", "webhook"]],
    ["onair deliveries --status = failed re", offered],
  ])("bash, which splits words at =: %s", async (typed, expected) => {
    const script = `source <(onair completion bash); COMP_WORDS=(${typed}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _onair
      printf '%s\n' "\${COMPREPLY[@]}"`;
    expect(await shell(["bash", "-c"], script)).toEqual(expected);
  });

  test.skipIf(!Bun.which("zsh"))("zsh", async () => {
    const script = `compdef() { print -- "compdef $*" }; _describe() { print -l -- "\${(P@)2%%:*}" }
      source <(onair completion zsh); words=(onair deliveries re); CURRENT=3; _onair`;
    expect(await shell(["zsh", "-fc"], script)).toEqual(["compdef _onair onair", ...offered]);
  });

  test.skipIf(!Bun.which("fish"))("fish", async () => {
    const script = `source (onair completion fish | psub); complete --do-complete "onair deliveries re"`;
    const lines = await shell(["fish", "--no-config", "-c"], script);
    expect(lines.map((line) => line.split("\t")[0] ?? "")).toEqual(offered);
  });
});

test.each([
  [[], "The shell must be one of bash, zsh, fish"],
  [["bsah"], "Did you mean bash?"],
  [["bash", "zsh"], '"zsh" is not expected here'],
])("onair completion %j is wrong usage", async (args, message) => {
  const { code, stdout, stderr } = await run(["completion", ...args]);
  expect([code, stdout, stderr]).toEqual([2, "", expect.stringContaining(message)]);
});
