/*
 * Builds the executable: bun scripts/build.ts [--target bun-linux-arm64] [--outfile dist/onair]
 */
import { statSync } from "node:fs";
import { relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { buildExecutable } from "./executable.ts";
import { buildOf } from "./version.ts";

const usage = "Usage: bun run build [--target bun-<os>-<architecture>] [--outfile FILE]";

function readArguments() {
  try {
    return parseArgs({ options: { target: { type: "string" }, outfile: { type: "string" } } }).values;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n${usage}\n`);
    process.exit(2);
  }
}

const { target, outfile = resolve(import.meta.dir, "../dist/onair") } = readArguments();
const path = resolve(outfile);
const shown = relative(process.cwd(), path);
try {
  const build = buildOf(resolve(import.meta.dir, ".."));
  await buildExecutable(path, target, build);
  process.stdout.write(`${shown}  ${build.version}  ${(statSync(path).size / 1e6).toFixed(1)} MB\n`);
} catch (error) {
  const reasons = error instanceof AggregateError ? error.errors : [error];
  process.stderr.write(`The build failed:\n${reasons.map((reason) => `  ${reason}\n`).join("")}`);
  process.exit(1);
}
