import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/*
 * All programs of README and docs/, and how a test builds and starts them. Programs get their settings from the
 * environment: PORT and WEBHOOK_SECRET, or ONAIR_URL with TOKEN and SECRET or CLIENT_ID and CLIENT_SECRET.
 */

const root = join(import.meta.dir, "../..");

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

/** True when the command succeeds. */
function succeeds(command: string[], cwd: string): boolean {
  const env = { ...process.env, CARGO_NET_RETRY: "0", CARGO_HTTP_TIMEOUT: "20" };
  return Bun.spawnSync(command, { cwd, env, timeout: 120_000 }).exitCode === 0;
}

function built(command: string[], cwd: string, program: string): readonly string[] {
  const env = { ...process.env, GOFLAGS: "-mod=mod", GOTOOLCHAIN: "local" };
  const { exitCode, stderr } = Bun.spawnSync(command, { cwd, env, stderr: "pipe" });
  if (exitCode !== 0) throw new Error(stderr.toString());
  return [program];
}
