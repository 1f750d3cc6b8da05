import { expect, test } from "bun:test";
import { join } from "node:path";
import { afterThisTest } from "../support/after-tests.ts";

const program = join(import.meta.dir, "../../src/cli/dev.ts");

/** Checks every 10 ms, and prints the parent of its parent each time. */
const watcher = `
  import { readFileSync } from "node:fs";
  const { setInterval } = globalThis;
  globalThis.setInterval = (look) => setInterval(() => {
    look();
    console.log("looked below " + above());
  }, 10);
  function above() {
    try {
      return readFileSync("/proc/" + process.ppid + "/stat", "latin1").split(") ").at(-1).split(" ")[1];
    } catch {
      return "none";
    }
  }
  const { npmEnd } = await import(${JSON.stringify(program)});
  npmEnd(process.env).then(() => process.exit(console.log("npm ended")));
  setInterval(() => {}, 60_000);
`;

/** A stand-in for npm that starts the watcher as its command. */
const npm = `
  const env = { ...process.env, npm_command: "run-script" };
  const stdio = ["ignore", "inherit", "inherit"];
  const child = Bun.spawn([process.execPath, "-e", ${JSON.stringify(watcher)}], { env, stdio });
  await child.exited;
`;

test.skipIf(process.platform !== "linux")(
  "a program started by npm outlives the shell that started npm, and ends with npm",
  async () => {
    const { npm_command, ...env } = process.env;
    const shell = Bun.spawn(["sh", "-c", '"$0" -e "$1" & echo "npm $!"; read _', process.execPath, npm], {
      env,
      stdin: "pipe",
      stdout: "pipe",
      stderr: "inherit",
    });
    const lines = linesOf(shell.stdout);
    const pid = Number((await lines.next((line) => line.startsWith("npm "))).slice(4));
    afterThisTest(() => {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It has ended.
      }
    });
    await lines.next((line) => line === `looked below ${shell.pid}`);
    shell.stdin.end();
    await shell.exited;
    await lines.next((line) => line.startsWith("looked") && line !== `looked below ${shell.pid}`);
    expect(await lines.next(() => true)).toStartWith("looked");
    process.kill(pid, "SIGKILL");
    await lines.next((line) => line === "npm ended");
  },
  60_000,
);

function linesOf(stream: ReadableStream<Uint8Array>) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  return {
    /** The next matching line. Throws at the end, and for an unwanted line "npm ended". */
    async next(isWanted: (line: string) => boolean): Promise<string> {
      for (;;) {
        const end = text.indexOf("\n");
        if (end === -1) {
          const { done, value } = await reader.read();
          if (done) throw new Error("It has ended");
          text += value;
          continue;
        }
        const line = text.slice(0, end);
        text = text.slice(end + 1);
        if (isWanted(line)) return line;
        if (line === "npm ended") throw new Error("It ends before npm");
      }
    },
  };
}
