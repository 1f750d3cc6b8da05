import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { commitOf } from "../../scripts/version.ts";
import { progressLine } from "../../src/cli/output/print.ts";
import { commands as table } from "../../src/cli/program.ts";
import { helpColumns } from "../../src/server/settings/shown-settings.ts";
import { compiled, expectFailure, program, run } from "../support/process.ts";

const commands = Object.keys(table);

test("there are commands", () => expect(commands).toContain("serve"));

describe.each(commands)("onair %s", (command) => {
  test("--help and help print the same text, which fits a terminal", async () => {
    const [asOption, asCommand] = await Promise.all([run([command, "--help"]), run(["help", command])]);
    expect([asOption.code, asOption.stderr]).toEqual([0, ""]);
    expect(asCommand).toEqual(asOption);
    const wide = asOption.stdout.split("\n").filter((line) => Bun.stringWidth(line) > helpColumns);
    expect(wide).toEqual([]);
  });

  test("completion offers exactly the options of the help", async () => {
    const { help, options } = (await table[command]?.()) ?? { help: "", options: {} };
    const described = new Set([...help.matchAll(/(?<![\w-])--([a-z][a-z-]+)/g)].map(([, name]) => name));
    const missing = Object.keys(options).filter((name) => !described.has(name));
    // Those are explained there.
    if (!help.includes("[options of onair serve]")) expect(missing).toEqual([]);
    const own = [...help.matchAll(/^ {2}--([a-z][a-z-]+)/gm)].map(([, name = ""]) => name);
    expect(own.filter((name) => !Object.hasOwn(options, name))).toEqual([]);
  });

  test("the error about an unknown option names it", async () => {
    expectFailure(await run([command, "--hepl"]), 2, "--hepl is not a known option");
  });
});

test.each<[string[], number, string]>([
  [["exprot"], 2, 'There is no command "exprot". Did you mean export?'],
  [["ap", "show"], 2, 'There is no command "ap". Did you mean app?'],
  [["--help=x"], 2, 'There is no command "--help=x".\n'],
  [
    ["--profile", "dev", "app", "show"],
    2,
    "Options come after the command, as in: onair app show --profile dev\n",
  ],
  [["--url=http://127.0.0.1:1", "apps", "list"], 2, "Options come after the command, as in: "],
  [["app", "show", "--help=x"], 2, "--help takes no value\n"],
  [["app", "change", "--delivery", "both", "--delivery=stream"], 2, "--delivery is given more than once"],
  [["fly"], 2, 'There is no command "fly".\n'],
  [["constructor"], 2, "There is no command"],
  [[], 2, "Usage: onair <command>"],
  [["help", "sevre"], 2, 'There is no command "sevre". Did you mean serve?'],
  [["help", "serve", "now"], 2, '"now" is not expected here'],
  [["version", "now"], 2, '"now" is not expected here'],
  [["version", "--jsn"], 2, "--jsn is not a known option. Did you mean --json?"],
  [["events", "--help"], 0, "onair events trigger <type>"],
  [["events", "triger", "chat.message.sent"], 2, "Did you mean trigger?"],
  [["apps", "create", "--name", "x", "--delivery", "strem"], 2, "Did you mean stream?"],
  [["apps", "change", "x", "--lock", "", "--lock", "webhok_url"], 2, "Did you mean webhook_url?"],
  [["app", "change", "--delivery", "bth"], 2, "Did you mean both?"],
  [["admin-key", "create", "--name", "x", "--role", "reder"], 2, "Did you mean reader?"],
  [["help"], 0, "Usage: onair <command>"],
  [["--help"], 0, "serve "],
  [["help", "version"], 0, "Usage: onair version"],
  [["help", "serve"], 0, "an operator key of 16 to 200 characters"],
  [["version", "--help"], 0, "Usage: onair version"],
])("%j ends with %i", async (args, code, message) => {
  const result = await run(args);
  expect([result.code, result.stdout + result.stderr]).toEqual([code, expect.stringContaining(message)]);
  expect(code === 0 ? result.stderr : result.stdout).toBe("");
});

test("version prints the commit, as text and as JSON, so that builds of one version can be distinguished", async () => {
  const ofCheckout = program === compiled ? commitOf(join(import.meta.dir, "../..")) : null;
  const { code, stdout } = await run(["version", "--json"], { command: program });
  expect([code, JSON.parse(stdout)]).toEqual([
    0,
    {
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      commit: ofCheckout && expect.stringMatching(/^[0-9a-f]{12}(-changed)?$/),
      bun: "1.4.5",
      platform: process.platform,
      arch: process.arch,
    },
  ]);
  const { version, commit } = JSON.parse(stdout);
  const shown = `onair ${version}${commit ? ` (${commit})` : ""}\n`;
  expect(await run(["version"], { command: program })).toEqual({ code: 0, stdout: shown, stderr: "" });
});

const waitingProgram = join(import.meta.dir, "../../src/cli/command.ts");

type Signal = "SIGINT" | "SIGTERM" | "SIGHUP";

/**
 * The exit code of a process that receives two signals, this many milliseconds apart by its clock; 7 if it continues.
 */
function exitCodeAfter(first: Signal, second: Signal, apartMs: number): number | null {
  const source = `
    const { onTermination } = await import(${JSON.stringify(waitingProgram)});
    let time = 0;
    const terminated = onTermination(["SIGTERM", "SIGINT", "SIGHUP"], () => time);
    process.emit("${first}");
    if (await terminated !== "${first}") process.exit(8);
    time = ${apartMs};
    process.emit("${second}");
    process.exit(7);
  `;
  return Bun.spawnSync([process.execPath, "-e", source]).exitCode;
}

test("a second signal ends a command at once, unless it comes with the first one, as with bun run, npx and runners", () => {
  for (const first of ["SIGINT", "SIGTERM"] as const) {
    for (const second of ["SIGINT", "SIGTERM"] as const) {
      expect([first, second, exitCodeAfter(first, second, 20)]).toEqual([first, second, 7]);
      expect([first, second, exitCodeAfter(first, second, 1_000)]).toEqual([first, second, 1]);
    }
  }
  // A terminal that closes may send SIGHUP to a command that is already stopping.
  expect(exitCodeAfter("SIGINT", "SIGHUP", 1_000)).toBe(7);
  expect(exitCodeAfter("SIGHUP", "SIGHUP", 1_000)).toBe(1);
});

test("progress is a bar on a wide enough terminal, and a plain line elsewhere", () => {
  const half = { bytes: 50e6, totalBytes: 100e6, rows: 12_345 };
  const plain = "50.0 of 100.0 MB  12,345 rows  12,345 rows/s  1 s left";
  expect(progressLine(half, 1_000, 120)).toBe(`████████████░░░░░░░░░░░░  50 %  ${plain}`);
  expect(progressLine(half, 1_000, 73)).toBe(`█████░░░░░  50 %  ${plain}`);
  expect(progressLine(half, 1_000, 40)).toBe(`50 %  ${plain}`.slice(0, 39));
  expect(progressLine(half, 1_000, null)).toBe(`50 %  ${plain}`);
  expect(progressLine({ bytes: 5e6, totalBytes: null, rows: 10 }, 500, null)).toBe(
    "5.0 MB  10 rows  20 rows/s",
  );
  expect(progressLine({ ...half, rows: null }, 500, null)).toBe(
    "50 %  50.0 of 100.0 MB  100.0 MB/s  1 s left",
  );
  const rows = { bytes: 0, totalBytes: null, rows: 250_000, totalRows: 1_000_000 };
  expect(progressLine(rows, 2_500, null)).toBe("25 %  250,000 of 1,000,000 rows  100,000 rows/s  8 s left");
  expect(progressLine({ bytes: 0, totalBytes: 0, rows: 0 }, 0, 120)).toBe("0.0 MB  0 rows  0 rows/s");
});
