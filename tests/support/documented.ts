import { symlinkSync } from "node:fs";
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
