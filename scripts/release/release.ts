/*
 * Makes all files of a release, in dist/release:
 *
 *     bun run release [--target linux-x64]… [--out DIR]
 *
 * The same commit gives the same bytes. All files have the time SOURCE_DATE_EPOCH, by default that of the commit.
 */
import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { buildOf } from "../version.ts";
import { type Entry, tarGz } from "./archive.ts";
import { type Contents, contentsOf, executableOf } from "./contents.ts";
import { debianPackage } from "./debian.ts";
import { executableForNpm, packageForNpm } from "./npm.ts";
import { targets } from "./targets.ts";

const root = resolve(import.meta.dir, "../..");
const usage = `Usage: bun run release [--target TARGET]… [--out DIR]

Makes archives, packages for Debian and npm, an SBOM and checksums.

  --target TARGET  one of these targets, may be repeated (default: all):
                   ${targets.map(({ name }) => name).join(", ")}
  --out DIR        output directory; its content is replaced (default: dist/release)
`;

function readArguments() {
  try {
    const options = {
      target: { type: "string", multiple: true },
      out: { type: "string" },
      help: { type: "boolean", short: "h" },
    } as const;
    const { target: names = [], out = join(root, "dist/release"), help } = parseArgs({ options }).values;
    if (help) {
      process.stdout.write(usage);
      process.exit(0);
    }
    const unknown = names.filter((name) => !targets.some((target) => target.name === name));
    if (unknown.length > 0) throw new Error(`There is no target ${unknown.join(", ")}`);
    const chosen = targets.filter(({ name }) => names.length === 0 || names.includes(name));
    return { chosen, out: resolve(out) };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n${usage}`);
    process.exit(2);
  }
}

/** The time of all files, in seconds since 1970. */
async function releaseTime(): Promise<number> {
  const given = process.env["SOURCE_DATE_EPOCH"];
  const text = given ?? (await Bun.$`git log -1 --format=%ct`.cwd(root).quiet().nothrow().text());
  if (!/^\d+\s*$/.test(text)) {
    throw new Error(
      "The time of the files is unknown: set SOURCE_DATE_EPOCH to seconds since 1970, or run in a git checkout",
    );
  }
  return Number(text);
}

/** Makes the archive of one target: a directory with the executable and its files. */
function archive({ target, version, executable, files, time }: Contents): Entry {
  const name = `onair-${version}-${target.name}`;
  const all = [{ path: "onair", content: executable, mode: 0o755 }, ...files];
  const inside = all.map((entry) => ({ ...entry, path: `${name}/${entry.path}` }));
  return { path: `${name}.tar.gz`, content: tarGz(inside, time) };
}

async function main(): Promise<void> {
  const { chosen, out } = readArguments();
  const time = await releaseTime();
  if (existsSync(out) && readdirSync(out).length > 0 && !existsSync(join(out, "SHA256SUMS")))
    throw new Error(`${out} has files that are not a release: name another directory`);
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  const sums: string[] = [];
  const keep = async ({ path, content }: Entry) => {
    await Bun.write(join(out, path), content);
    sums.push(`${Bun.SHA256.hash(content, "hex")}  ${path}\n`);
    process.stdout.write(`${path}  ${(content.length / 1e6).toFixed(1)} MB\n`);
  };
  const build = buildOf(root);
  await keep(await packageForNpm(build.version, time));
  for (const target of chosen) {
    const contents = await contentsOf(target, time, await executableOf(target, build));
    await keep(archive(contents));
    if (target.debian !== undefined) await keep(await debianPackage(contents, target.debian));
    await keep(executableForNpm(contents));
  }
  await Bun.write(join(out, "SHA256SUMS"), sums.sort().join(""));
}

await main().catch((error) => {
  const reasons = error instanceof AggregateError ? error.errors : [error];
  process.stderr.write(`The release failed:\n${reasons.map((reason) => `  ${reason}\n`).join("")}`);
  process.exit(1);
});
