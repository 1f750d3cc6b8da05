import { expect, spyOn } from "bun:test";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { runProgram } from "../../src/cli/program.ts";
import type { Environment } from "../../src/server/settings/read-config.ts";
import { afterThisTest } from "./after-tests.ts";
import { adminKey, ServerClient } from "./server.ts";
import { until } from "./until.ts";

const root = join(import.meta.dir, "../..");

/** The compiled file, which `bun run build` makes. */
export const compiled: readonly string[] = [join(root, "dist/onair")];

/** The program from the checkout, without what Bun itself would read of the working directory. */
export const fromSource: readonly string[] = [process.execPath, "--no-env-file", join(root, "src/main.ts")];

/** How tests start a process: compiled where that is up to date, which takes a tenth of the processor's time. */
export const program: readonly string[] = isUpToDate(compiled[0] ?? "") ? compiled : fromSource;

/** Whether a file is newer than everything that the executable, and the client, are made of. */
export function isUpToDate(file: string): boolean {
  if (!existsSync(file)) return false;
  const parts = ["src", "drizzle", "scripts", "package.json", "bun.lock", "tsconfig.json"].flatMap((name) => {
    const path = join(root, name);
    // Directories, too: they tell of what was removed. The types that `bun run types` makes are not in the executable.
    const within = statSync(path).isDirectory()
      ? readdirSync(path, { recursive: true, encoding: "utf8" })
      : [];
    return [path, ...within.filter((one) => !one.endsWith(".d.ts")).map((one) => join(path, one))];
  });
  const { mtimeMs } = statSync(file);
  return parts.every((part) => statSync(part).mtimeMs < mtimeMs);
}

/** A server in a process of its own. */
export class ServerProcess extends ServerClient {
  readonly #child: Bun.Subprocess;

  constructor(child: Bun.Subprocess, publicUrl: string, adminUrl: string) {
    super(publicUrl, adminUrl);
    this.#child = child;
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** Resolves to its exit code when it has ended. */
  get exited(): Promise<number> {
    return this.#child.exited;
  }

  /** Sends it a signal. */
  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Ends it by a signal and gives its exit code. */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    this.kill(signal);
    await this.#child.exited;
    return this.#child.exitCode;
  }
}

export interface RunOptions {
  readonly command?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Kills it by SIGKILL so long after its start, ready or not. */
  readonly killAfterMs?: number;
  /** The ports of the public and the admin listener; by default free ones. */
  readonly ports?: readonly [port: number, adminPort: number];
  /** The file or descriptor into which its log goes, instead of the test's standard error. */
  readonly log?: string | number;
}

/** Commands that take signals, or umask and the like, for their own. */
const ofProcess = new Set<string | undefined>(["serve", "dev"]);

/**
 * Runs a command to its end: in this process, one at a time, which takes a tenth of the time; in a process of its own
 * where it serves, or where `command` names the program.
 */
export async function run(args: readonly string[], options: RunOptions = {}) {
  const { command = ofProcess.has(args[0]) ? program : null, env = {}, cwd = root } = options;
  if (!command) {
    const result = runEach.then(() => runHere(args, env, cwd));
    runEach = result.catch(() => {});
    return result;
  }
  const child = Bun.spawn([...command, ...args], {
    cwd,
    env: { PATH: process.env["PATH"], ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { stdout, stderr, code };
}

let runEach: Promise<unknown> = Promise.resolve();

async function runHere(args: readonly string[], env: Environment, cwd: string) {
  const written = { stdout: "", stderr: "" };
  const streams = ["stdout", "stderr"] as const;
  const spies = streams.map((stream) =>
    // A boundary: `write` has several forms, of which the commands use these.
    spyOn(process[stream], "write").mockImplementation(((
      data: string | Uint8Array,
      done?: (error: Error | null) => void,
    ) => {
      written[stream] += typeof data === "string" ? data : new TextDecoder().decode(data);
      done?.(null);
      return true;
    }) as typeof process.stdout.write),
  );
  // Where the tests themselves run on a terminal.
  const terminals = [process.stdin, process.stdout].filter(({ isTTY }) => isTTY);
  for (const terminal of terminals) terminal.isTTY = false;
  const before = process.cwd();
  const listening = streams.map((stream) => process[stream].listeners("error"));
  process.chdir(cwd);
  try {
    const code = await runProgram(args, { PATH: process.env["PATH"], ...env });
    return { code, ...written };
  } finally {
    process.chdir(before);
    for (const [i, stream] of streams.entries()) {
      const added = process[stream].listeners("error").filter((one) => !listening[i]?.includes(one));
      // A boundary: a listener may be any function.
      for (const one of added) process[stream].off("error", one as () => void);
    }
    for (const terminal of terminals) terminal.isTTY = true;
    for (const spy of spies) spy.mockRestore();
  }
}

/** Expects that a command ended with this exit code, printed nothing but why, and said so. */
export function expectFailure(
  {
    code,
    stdout,
    stderr,
  }: { readonly code: number | null; readonly stdout: string; readonly stderr: string },
  exitCode: 1 | 2,
  message: string,
): void {
  expect([code, stdout]).toEqual([exitCode, ""]);
  expect(stderr).toContain(message);
}

/** Runs a command with `--json`. Expects that it succeeds and notes nothing, and returns what it prints. */
export async function printedJson<T>(args: readonly string[], options: RunOptions = {}): Promise<T> {
  const { code, stdout, stderr } = await run([...args, "--json"], options);
  expect([args, code, stderr]).toEqual([args, 0, ""]);
  return JSON.parse(stdout) as T;
}

/** What a command printed, without how long it took. */
export function untimed<T extends { readonly stdout: string }>(result: T): T {
  return { ...result, stdout: result.stdout.replace(/ in ([0-9.]+ m?s|[0-9]+ min [0-9]+ s)\b/g, "") };
}

/** Starts `onair serve` on free ports and waits for its ready line. */
export async function serve(
  args: readonly string[],
  {
    command = program,
    env = {},
    cwd = root,
    killAfterMs,
    ports: [port, adminPort] = [0, 0],
    log,
  }: RunOptions = {},
): Promise<ServerProcess> {
  const child = Bun.spawn(
    [...command, "serve", "--port", `${port}`, "--admin-port", `${adminPort}`, ...args],
    {
      cwd,
      env: { PATH: process.env["PATH"], ONAIR_ADMIN_KEY: adminKey, ONAIR_LOG_LEVEL: "error", ...env },
      stdin: "ignore",
      stdout: "pipe",
      stderr: typeof log === "string" ? Bun.file(log) : (log ?? "inherit"),
    },
  );
  if (killAfterMs !== undefined) setTimeout(() => child.kill("SIGKILL"), killAfterMs);
  const line = await firstLine(child.stdout);
  const [, publicUrl, adminUrl] = /^onair ready public=(\S+) admin=(\S+)$/.exec(line) ?? [];
  if (!publicUrl || !adminUrl)
    throw new Error(line === "" ? `not ready: it ended with ${await child.exited}` : `not ready: ${line}`);
  return new ServerProcess(child, publicUrl, adminUrl);
}

/** In a test or `beforeEach`: the same, killed after the test at the latest. */
export async function ownProcess(...given: Parameters<typeof serve>): Promise<ServerProcess> {
  const server = await serve(...given);
  afterThisTest(() => server.end("SIGKILL"));
  return server;
}

async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  for await (const chunk of stream) {
    text += new TextDecoder().decode(chunk);
    if (text.includes("\n")) break;
  }
  return text.trimEnd();
}

/** A command of the executable that goes on; what it prints is gathered meanwhile. */
export class RunningCommand {
  stdout = "";
  stderr = "";
  readonly #child;
  readonly #read: Promise<unknown>;

  constructor(
    args: readonly string[],
    { command = program, env = {}, cwd = process.cwd() }: RunOptions = {},
  ) {
    this.#child = Bun.spawn([...command, ...args], {
      cwd,
      env: { PATH: process.env["PATH"], ...env },
      stdin: "pipe",
      stdout: "pipe",
      stderr: "pipe",
    });
    this.#read = Promise.all([this.#gather("stdout"), this.#gather("stderr")]);
  }

  async #gather(name: "stdout" | "stderr"): Promise<void> {
    const decoder = new TextDecoder();
    for await (const bytes of this.#child[name]) this[name] += decoder.decode(bytes, { stream: true });
  }

  get output(): string {
    return this.stdout + this.stderr;
  }

  /** Those that have ended, of standard output. */
  get lines(): string[] {
    return this.stdout.split("\n").slice(0, -1);
  }

  /** Waits until it has printed this so often; gives all that it has printed. */
  async shows(text: string | RegExp, times = 1): Promise<string> {
    const form = new RegExp(typeof text === "string" ? RegExp.escape(text) : text, "gm");
    await until(
      () => (this.output.match(form)?.length ?? 0) >= times,
      () => `${form} was not shown:\n${this.output}`,
    );
    return this.output;
  }

  async line(matches: (line: string) => boolean = () => true): Promise<string> {
    await until(
      () => this.lines.some(matches),
      () => `there was no such line:\n${this.output}`,
    );
    return this.lines.find(matches) ?? "";
  }

  /** Types this into its standard input. */
  write(text: string): void {
    this.#child.stdin.write(text);
    this.#child.stdin.flush();
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** All that it has printed, and its exit code, when its input and then it have come to an end. */
  async ended() {
    this.#child.stdin.end();
    await Promise.all([this.#read, this.#child.exited]);
    return { stdout: this.stdout, stderr: this.stderr, code: this.#child.exitCode };
  }

  /** Ends it by a signal, before its input ends; gives its exit code. */
  async end(signal: NodeJS.Signals = "SIGINT"): Promise<number | null> {
    this.kill(signal);
    await this.#child.exited;
    return (await this.ended()).code;
  }
}

/** What runs this line of a shell on a terminal of its own: for `command` of {@link RunOptions}. */
export const onTerminal = (line: string): readonly string[] => ["script", "-qec", line, "/dev/null"];
