#!/usr/bin/env node
// Runs the executable for this machine, which npm installs beside this package.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const { platform, arch, report } = process;
report.excludeNetwork = true; // otherwise it resolves host names
const isMusl = platform === "linux" && !report.getReport().header.glibcVersionRuntime;
const name = `@onair/${platform}-${arch}${isMusl ? "-musl" : ""}`;

let file = "";
try {
  file = createRequire(import.meta.url).resolve(`${name}/bin/onair`);
} catch {
  process.stderr.write(`onair: the package ${name} with the executable for this machine is not installed.
It is an optional dependency of onair: install onair again without --omit=optional, on the machine that runs it.
There are executables for Linux and macOS, x64 and arm64.
`);
  process.exit(1);
}

const child = spawn(file, process.argv.slice(2), { stdio: "inherit" });
// Ctrl-C in a terminal reaches both processes; a second SIGINT would end the server at once.
process.on("SIGINT", () => process.stdin.isTTY || child.kill("SIGINT"));
process.on("SIGTERM", () => child.kill("SIGTERM"));
process.on("SIGHUP", () => child.kill("SIGHUP"));
// npm and its shell end at a signal without forwarding it. In npm scripts, only "dev" certainly should end with them.
const { npm_command } = process.env;
if (npm_command === "exec" || (npm_command !== undefined && process.argv[2] === "dev")) {
  const before = ancestors();
  const watch = setInterval(() => {
    if (ancestors() === before) return;
    clearInterval(watch);
    child.kill("SIGTERM");
  }, 500);
}
child.on("error", (error) => {
  process.stderr.write(`onair: ${file} cannot be started: ${error.message}\n`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code ?? 1);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});

/** Returns the parent, a shell of npm, and the grandparent where `/proc` shows it. */
function ancestors() {
  const parent = process.ppid;
  try {
    // After the name, which may contain spaces, come the state and the parent.
    const [, grandparent] = readFileSync(`/proc/${parent}/stat`, "latin1").split(") ").at(-1).split(" ");
    return `${parent} ${grandparent}`;
  } catch {
    return String(parent);
  }
}
