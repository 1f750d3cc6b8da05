#!/usr/bin/env node
// Runs the executable for this machine, which npm installs beside this package.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";

const { platform, arch, report } = process;
report.excludeNetwork = true; // it would look up names
const isMusl = platform === "linux" && !report.getReport().header.glibcVersionRuntime;
const name = `@onair/${platform}-${arch}${isMusl ? "-musl" : ""}`;

let file = "";
try {
  file = createRequire(import.meta.url).resolve(`${name}/bin/onair`);
} catch {
  process.stderr.write(`onair: the package ${name} with the executable for this machine is not installed.
It is an optional dependency of onair: install it again without --omit=optional, and on the machine on which it runs.
There is one for Linux and macOS, x64 and arm64.
`);
  process.exit(1);
}

const child = spawn(file, process.argv.slice(2), { stdio: "inherit" });
// Ctrl-C in a terminal reaches both processes; a second SIGINT would end the server at once.
process.on("SIGINT", () => process.stdin.isTTY || child.kill("SIGINT"));
process.on("SIGTERM", () => child.kill("SIGTERM"));
process.on("SIGHUP", () => child.kill("SIGHUP"));
child.on("error", (error) => {
  process.stderr.write(`onair: ${file} does not start: ${error.message}\n`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code ?? 1);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
