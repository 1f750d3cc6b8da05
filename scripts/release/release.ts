/*
 * Makes all files of a release, in dist/release:
 *
 *     bun run release [--target linux-x64]… [--sign KEY] [--out DIR]
 *
 * The same commit gives the same bytes, in any directory. All files have the time SOURCE_DATE_EPOCH, by default that of
 * the commit. The version is that of the tag; see version.ts.
 */
import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { version as ownVersion } from "../../package.json";
import type { Build } from "../../src/runtime/build.ts";
import { buildOf } from "../version.ts";
import { type Entry, tarGz } from "./archive.ts";
import { clientPackages } from "./clients.ts";
import { type Contents, contentsOf, executableOf } from "./contents.ts";
import { debianPackage } from "./debian.ts";
import { executableForNpm, packageForNpm } from "./npm.ts";
import { requireKey, sign } from "./signature.ts";
import { targets } from "./targets.ts";

const root = resolve(import.meta.dir, "../..");
const usage = `Usage: bun run release [--target TARGET]… [--sign KEY] [--out DIR]

Makes archives, packages for Debian and npm, the clients for Python and Go, an SBOM, checksums and their signature.

  --target TARGET  one of these targets, may be repeated (default: all):
                   ${targets.map(({ name }) => name).join(", ")}
  --sign KEY       sign the checksums with this SSH key (ssh-keygen -Y sign); a public key means
                   the private key that the SSH agent has
  --out DIR        output directory; its content is replaced (default: dist/release)
`;

function readArguments() {
  try {
    const options = {
      target: { type: "string", multiple: true },
      out: { type: "string" },
      sign: { type: "string" },
      help: { type: "boolean", short: "h" },
    } as const;
    const {
      target: names = [],
      out = join(root, "dist/release"),
      sign: key,
      help,
    } = parseArgs({ options }).values;
    if (help) {
      process.stdout.write(usage);
      process.exit(0);
    }
    const unknown = names.filter((name) => !targets.some((target) => target.name === name));
    if (unknown.length > 0) throw new Error(`There is no target ${unknown.join(", ")}`);
    const chosen = targets.filter(({ name }) => names.length === 0 || names.includes(name));
    return { chosen, out: resolve(out), key };
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

/** Throws when the tag of a release and package.json have different versions: builds without the tag have the latter. */
function requireOneVersion({ version }: Build): void {
  const isTagged = !version.includes("+");
  if (isTagged && version !== ownVersion)
    throw new Error(
      `The tag is v${version}, but package.json has the version ${ownVersion}: make both the same`,
    );
}

/** Makes the archive of one target: a directory with the executable and its files. */
function archive({ target, version, executable, files, time }: Contents): Entry {
  const name = `onair-${version}-${target.name}`;
  const all = [{ path: "onair", content: executable, mode: 0o755 }, ...files];
  const inside = all.map((entry) => ({ ...entry, path: `${name}/${entry.path}` }));
  return { path: `${name}.tar.gz`, content: tarGz(inside, time) };
}

async function main(): Promise<void> {
  const { chosen, out, key } = readArguments();
  const time = await releaseTime();
  const build = buildOf(root);
  requireOneVersion(build);
  if (key !== undefined) await requireKey(key);
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
  await keep(await packageForNpm(build.version, time));
  for (const made of await clientPackages(build.version, time)) await keep(made);
  for (const target of chosen) {
    const contents = await contentsOf(target, time, await executableOf(target, build));
    await keep(archive(contents));
    if (target.debian !== undefined) await keep(await debianPackage(contents, target.debian));
    await keep(executableForNpm(contents));
  }
  const checksums = join(out, "SHA256SUMS");
  await Bun.write(checksums, sums.sort().join(""));
  if (key === undefined) return void process.stdout.write("SHA256SUMS is not signed: --sign KEY signs it\n");
  await sign(checksums, key);
  process.stdout.write("SHA256SUMS.sig\n");
}

await main().catch((error) => {
  const reasons = error instanceof AggregateError ? error.errors : [error];
  process.stderr.write(`The release failed:\n${reasons.map((reason) => `  ${reason}\n`).join("")}`);
  process.exit(1);
});
