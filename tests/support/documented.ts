import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { unusedPort } from "./ports.ts";
import { program } from "./process.ts";
import { temporaryDirectory } from "./server.ts";

/*
 * Runs the commands of a page of docs/ in one shell and an empty directory, as a reader would. The words after a
 * block's language mark it:
 *
 *   ```sh run             a command that must succeed
 *   ```sh serve 8081      a program that keeps running; wait until it listens on that port
 *   ```js file a.mjs      a file that the reader creates
 *   ```json shows         the output of the previous command; … matches any text, spaces are ignored
 */

interface Block {
  readonly kind: string;
  readonly argument: string;
  readonly text: string;
  readonly line: number;
}

const root = join(import.meta.dir, "../..");
/** Time for all commands of a page. Then a command that hangs is killed and reported. */
const longestMs = 150_000;
const kinds = ["run", "serve", "file", "shows"];

/** The marked blocks of a page. Throws for an unknown mark. */
export function blocksOf(markdown: string): Block[] {
  return [...markdown.matchAll(/^```\w+ (\w+) ?(\S*)\n([\s\S]*?)^```$/gm)].map(
    ([, kind = "", argument = "", text = ""], i, all) => {
      if (!kinds.includes(kind)) throw new Error(`A block is marked "${kind}"`);
      return { kind, argument, text, line: markdown.slice(0, all[i]?.index).split("\n").length };
    },
  );
}

interface Trial {
  /** Ports named on the page, to be replaced by free ones; first those of the two listeners. */
  readonly ports: readonly [api: number, admin: number, ...others: number[]];
  /** Absolute paths named on the page, to be moved into the temporary directory. */
  readonly paths?: readonly string[];
  /** Other texts of the page and their replacements. */
  readonly texts?: Readonly<Record<string, string>>;
  /** Shell commands to run before those of the page: its prerequisites. */
  readonly before?: string;
  /** Shell commands to run once the program of a `serve` block listens. Its output is in the file "$log". */
  readonly whenServing?: string;
}

const probe = `listens() {
  until (exec 3<>/dev/tcp/127.0.0.1/$1) 2>/dev/null; do kill -0 $2; sleep 0.1; done
}`;

/**
 * Runs the marked blocks of a page within 150 seconds and returns their number. Throws with line and output of a block
 * that failed or printed something else.
 */
export async function tryPage(page: string, trial: Trial): Promise<number> {
  const blocks = blocksOf(await Bun.file(join(root, page)).text());
  using directory = temporaryDirectory();
  const here = (name: string) => join(directory.path, name);
  const ports = await Promise.all(trial.ports.map(async (port) => [port, await unusedPort()] as const));
  const adapted = (text: string) => {
    let made = text;
    for (const [port, own] of ports) made = made.replaceAll(new RegExp(`\\b${port}\\b`, "g"), String(own));
    for (const [its, own] of Object.entries(trial.texts ?? {})) made = made.replaceAll(its, own);
    for (const path of trial.paths ?? []) made = made.replaceAll(path, here(path.slice(1)));
    return made;
  };
  const steps: string[] = [];
  for (const { kind, argument, text, line } of blocks) {
    const log = here(`.${line}.log`);
    steps.push(`block=${line}`);
    if (kind === "run") steps.push(`{\n${adapted(text)}} >${log} 2>&1`);
    if (kind === "file") await Bun.write(resolve(directory.path, adapted(argument)), adapted(text));
    if (kind === "serve") {
      steps.push(`{\n${adapted(text)}} >${log} 2>&1 &`, `listens ${adapted(argument)} $!`, `log=${log}`);
      steps.push(trial.whenServing ?? "");
    }
  }
  const paths = (trial.paths ?? []).map((path) => `mkdir -p ${dirname(here(path.slice(1)))}`);
  const script = [
    "set -euo pipefail",
    "exec 9>&1",
    "block=before",
    "trap 'echo $block >&9' EXIT",
    probe,
    ...paths,
    `{\n${adapted(trial.before || "true")}\n} >${here(".before.log")} 2>&1`,
    ...steps,
    "block=done",
  ];
  await Bun.write(here(".script"), script.join("\n"));
  await Bun.write(here(".bin/onair"), `#!/bin/sh\nexec ${program.join(" ")} "$@"\n`);
  symlinkSync(join(root, "node_modules"), here("node_modules"));
  Bun.spawnSync(["chmod", "755", here(".bin/onair")]);
  const [api, admin] = ports;
  const shell = Bun.spawn(["bash", ".script"], {
    cwd: directory.path,
    env: {
      PATH: `${here(".bin")}:${process.env["PATH"]}`,
      HOME: directory.path,
      NO_COLOR: "1",
      ONAIR_PORT: String(api?.[1]),
      ONAIR_ADMIN_PORT: String(admin?.[1]),
    },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
    // A process group of its own, so that all of it can be killed.
    detached: true,
  });
  const late = setTimeout(() => endGroup(shell.pid, "SIGTERM"), longestMs);
  try {
    const reached = (await firstLine(shell.stdout)).trim();
    const output = (line: number | string) => Bun.file(here(`.${line}.log`)).text();
    if (reached !== "done") {
      const printed = await output(reached).catch(() => "");
      throw new Error(`${page}:${reached} failed:\n${printed}`);
    }
    let before: Block | undefined;
    for (const block of blocks) {
      if (block.kind === "run") before = block;
      if (block.kind !== "shows") continue;
      if (before === undefined) throw new Error(`${page}:${block.line} has no command before it`);
      const printed = await output(before.line);
      if (!looksLike(printed, adapted(block.text))) {
        throw new Error(
          `${page}:${block.line} shows:\n${block.text}\nbut ${before.line} printed:\n${printed}`,
        );
      }
    }
    return blocks.filter(({ kind }) => kind === "run" || kind === "serve").length;
  } finally {
    clearTimeout(late);
    endGroup(shell.pid, "SIGKILL");
    await shell.exited;
  }
}

function endGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // All of its processes have ended.
  }
}

/** Reads up to the first line. The end of the stream may never come, because child processes hold the output open. */
async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  for await (const bytes of stream) {
    text += new TextDecoder().decode(bytes);
    if (text.includes("\n")) break;
  }
  return text;
}

function looksLike(printed: string, shown: string): boolean {
  const bare = (text: string) => text.replace(/\s+/g, "");
  const pattern = bare(shown)
    .split("…")
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))
    .join(".*");
  return new RegExp(pattern).test(bare(printed));
}

/** What a program is: a receiver of webhooks, a reader of the stream, or a part of one that does not run alone. */
type Kind = "receiver" | "stream" | "fragment";

/** The blocks with code of each page, in their order, with what each is. */
const table: Readonly<Record<string, readonly [language: string, kind: Kind][]>> = {
  "README.md": [["js", "receiver"]],
  "docs/client.md": [
    ["js", "fragment"],
    ["js", "stream"],
    ["js", "stream"],
    ["ts", "fragment"],
    ["ts", "fragment"],
    ["ts", "fragment"],
  ],
  "docs/first-webhook.md": [["js", "receiver"]],
  "docs/from-kick.md": [["js", "receiver"]],
  "docs/from-twitch.md": [["js", "receiver"]],
  "docs/go.md": [
    ["go", "stream"],
    ["go", "receiver"],
    ["go", "fragment"],
  ],
  "docs/python.md": [
    ["python", "stream"],
    ["python", "receiver"],
    ["python", "fragment"],
  ],
  "docs/stream.md": [
    ["js", "stream"],
    ["js", "stream"],
  ],
  "docs/verifying.md": [
    ["ts", "receiver"],
    ["python", "receiver"],
    ["go", "receiver"],
    ["php", "receiver"],
    ["rust", "receiver"],
    ["js", "fragment"],
  ],
};

/** A program of a page. */
export interface DocumentedProgram {
  /** Like `docs/python.md, 1 (python)`. */
  readonly name: string;
  readonly page: string;
  readonly language: string;
  readonly kind: Kind;
  readonly text: string;
}

/** The blocks with code of a page. A list of README may indent them. */
export async function codeOf(page: string): Promise<{ readonly language: string; readonly text: string }[]> {
  const markdown = await Bun.file(join(root, page)).text();
  const blocks = markdown.matchAll(/^( *)```(js|ts|python|go|php|rust)\b.*\n([\s\S]*?)^\1```$/gm);
  return [...blocks].map(([, indent = "", language = "", text = ""]) => ({
    language,
    text: text.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
  }));
}

/** All pages with code: those of the table, and those that it lacks. */
export async function pagesWithCode(): Promise<string[]> {
  const all = ["README.md", ...new Bun.Glob("docs/*.md").scanSync(root)];
  const counts = await Promise.all(all.map(async (page) => (await codeOf(page)).length));
  return all.filter((_, i) => (counts[i] ?? 0) > 0).sort();
}

export const documentedPages = Object.keys(table).sort();

/** What the table says of a page. */
export const expectedBlocks = (page: string) => table[page] ?? [];

/** The programs of this kind. */
export async function documentedPrograms(kind: Kind): Promise<DocumentedProgram[]> {
  const all = await Promise.all(
    Object.entries(table).map(async ([page, blocks]) => {
      const code = await codeOf(page);
      return blocks.map(([language, kind], i) => {
        const name = `${page}, ${i + 1} (${language})`;
        return { name, page, language, kind, text: code[i]?.text ?? "" };
      });
    }),
  );
  return all.flat().filter((program) => program.kind === kind && program.text !== "");
}

/** What tools each language needs. */
const tools: Readonly<Record<string, readonly string[]>> = {
  python: ["python3"],
  php: ["php"],
  rust: ["cargo"],
};

/**
 * Builds a program in a directory and returns the command that starts it there, listening at `port` if it is a receiver.
 * Null, with a warning, without the tools of its language. The libraries of Rust need the Internet.
 */
export function commandOf(
  { name, language, text, page }: Pick<DocumentedProgram, "name" | "language" | "text" | "page">,
  directory: string,
  port: number,
): readonly string[] | null {
  for (const tool of tools[language] ?? [])
    if (Bun.which(tool) === null) return skipped(name, `there is no ${tool}`);
  switch (language) {
    case "js":
    case "ts": {
      modules(directory);
      const file = written(directory, `main.${language === "ts" ? "ts" : "mjs"}`, atPort(text, port));
      // With Bun, the client of the checkout needs no build.
      const isForNode = language === "js" && !text.includes("onair/client");
      const runtime = isForNode ? Bun.which("node") : null;
      return [runtime ?? process.execPath, file];
    }
    case "python":
      return ["python3", written(directory, "main.py", text)];
    case "php":
      return ["php", "-S", `127.0.0.1:${port}`, written(directory, "receiver.php", text)];
    case "go":
      return builtInGo(name, directory, text, page === "docs/go.md");
    case "rust":
      return builtInRust(name, directory, text);
    default:
      throw new Error(`There is no way to run ${language}`);
  }
}

/** The environment of programs that use the clients of this checkout. */
export const programEnvironment = {
  ...process.env,
  PYTHONPATH: join(root, "clients/python/src"),
  PYTHONDONTWRITEBYTECODE: "1",
};

const atPort = (text: string, port: number) => text.replace("listen(3000)", `listen(${port})`);

function skipped(name: string, reason: string): null {
  console.warn(`\n*** ${name} is NOT TRIED: ${reason}. ***\n`);
  return null;
}

function written(directory: string, name: string, text: string): string {
  const file = join(directory, name);
  writeFileSync(file, text);
  return file;
}

/** The packages of the checkout, and the checkout itself as the package `onair`. */
function modules(directory: string): void {
  const to = join(directory, "node_modules");
  mkdirSync(to);
  for (const name of ["standardwebhooks", "eventsource", "eventsource-parser"])
    symlinkSync(join(root, "node_modules", name), join(to, name));
  symlinkSync(root, join(to, "onair"));
}

/** The version of Go that the client needs; other programs need less. */
const goVersion = [1, 24] as const;

/** Whether Go is there, and new enough. */
export function hasGo(): boolean {
  if (Bun.which("go") === null) return false;
  const { stdout } = Bun.spawnSync(["go", "env", "GOVERSION"]);
  const [major = 0, minor = 0] = (stdout.toString().match(/\d+/g) ?? []).map(Number);
  return major > goVersion[0] || (major === goVersion[0] && minor >= goVersion[1]);
}

function builtInGo(name: string, directory: string, text: string, usesClient: boolean) {
  if (!hasGo()) return skipped(name, `Go ${goVersion.join(".")} or newer is needed`);
  written(directory, "main.go", text);
  const client = `require onair.example/onair v0.0.0\nreplace onair.example/onair => ${join(root, "clients/go")}\n`;
  const needed = usesClient ? client : "";
  written(directory, "go.mod", `module example\n\ngo ${goVersion.join(".")}\n\n${needed}`);
  const program = join(directory, "program");
  return built(["go", "build", "-o", program, "."], directory, program);
}

function builtInRust(name: string, directory: string, text: string) {
  const [, crates = ""] = /^\/\/ cargo add (.+)$/m.exec(text) ?? [];
  mkdirSync(join(directory, "src"));
  written(directory, "Cargo.toml", '[package]\nname = "receiver"\nversion = "0.0.0"\nedition = "2021"\n');
  written(directory, "src/main.rs", "fn main() {}");
  // Fetches the libraries first: without the Internet, or with an old compiler, they are not available.
  const isThere =
    succeeds(["cargo", "add", "--quiet", ...crates.split(" ")], directory) &&
    succeeds(["cargo", "build", "--quiet"], directory);
  if (!isThere) return skipped(name, `there is no way to get ${crates}`);
  written(directory, "src/main.rs", text);
  return built(["cargo", "build", "--quiet"], directory, join(directory, "target/debug/receiver"));
}

/** For compilers: no long waits for the Internet, no other version of Go, and nothing that only a debugger needs. */
const compiling = {
  ...process.env,
  CARGO_NET_RETRY: "0",
  CARGO_HTTP_TIMEOUT: "20",
  CARGO_PROFILE_DEV_DEBUG: "0",
  GOFLAGS: "-mod=mod -ldflags=-w",
  GOTOOLCHAIN: "local",
};

/** True when the command succeeds. */
function succeeds(command: string[], cwd: string): boolean {
  return Bun.spawnSync(command, { cwd, env: compiling, timeout: 120_000 }).exitCode === 0;
}

function built(command: string[], cwd: string, program: string): readonly string[] {
  const { exitCode, stderr } = Bun.spawnSync(command, { cwd, env: compiling, stderr: "pipe" });
  if (exitCode !== 0) throw new Error(stderr.toString());
  return [program];
}
