import { symlinkSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { unusedPort } from "./ports.ts";
import { program } from "./process.ts";
import { temporaryDirectory } from "./server.ts";

/*
 * Runs the commands of a page of docs/ as a reader would, in one shell and an empty directory. The words behind the
 * language of a block say what it is:
 *
 *   ```sh run             a command, which has to succeed
 *   ```sh serve 8081      a program that goes on, until something listens on that port
 *   ```js file a.mjs      a file that the reader makes
 *   ```json shows         what the command before it printed, with … for what differs, whatever the spaces
 */

interface Block {
  readonly kind: string;
  readonly argument: string;
  readonly text: string;
  readonly line: number;
}

const root = join(import.meta.dir, "../..");
/** For all commands of a page: what hangs is ended, and said. */
const longestMs = 150_000;
const kinds = ["run", "serve", "file", "shows"];

/** Blocks of a page that are marked to be tried. Throws for a word that it does not know. */
export function blocksOf(markdown: string): Block[] {
  return [...markdown.matchAll(/^```\w+ (\w+) ?(\S*)\n([\s\S]*?)^```$/gm)].map(
    ([, kind = "", argument = "", text = ""], i, all) => {
      if (!kinds.includes(kind)) throw new Error(`A block is marked "${kind}"`);
      return { kind, argument, text, line: markdown.slice(0, all[i]?.index).split("\n").length };
    },
  );
}

interface Trial {
  /** Ports that the page names, each of which is another one in the trial: first those of the two listeners. */
  readonly ports: readonly [api: number, admin: number, ...others: number[]];
  /** Absolute paths that the page names, which are in the directory of the trial. */
  readonly paths?: readonly string[];
  /** Other texts of the page, with what stands in the trial in their place. */
  readonly texts?: Readonly<Record<string, string>>;
  /** Commands of the shell before those of the page: what the page takes for granted. */
  readonly before?: string;
  /** Commands of the shell after the program of a `serve` block listens; its output is in the file "$log". */
  readonly whenServing?: string;
}

const probe = `listens() {
  until (exec 3<>/dev/tcp/127.0.0.1/$1) 2>/dev/null; do kill -0 $2; sleep 0.1; done
}`;

/**
 * Runs the marked blocks of a page within 150 seconds, and gives how many there were to run. Throws with the line and the output of what
 * failed or printed something else.
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
    // A group of its own, which ends as a whole.
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
      if (block.kind !== "shows" || before === undefined) continue;
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
    // Nobody of it is left.
  }
}

/** The end of what a program writes: the programs that it started may go on and hold its output open. */
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
