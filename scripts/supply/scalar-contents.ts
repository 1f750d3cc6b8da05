/*
 * Lists the packages inside Scalar's script with their licences, in scripts/supply/scalar-contents.json. Run it after
 * an update of @scalar/fastify-api-reference:
 *
 *     bun scripts/supply/scalar-contents.ts
 *
 * The script's source map names its sources. Only @scalar/api-reference has that map, so it is installed temporarily.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { dependencies } from "../../package.json";
import { licenceFiles } from "./bundled.ts";

interface Contained {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  /** The copyright lines of its licence file; without one, the author in package.json. */
  readonly copyright: readonly string[];
}

const version = dependencies["@scalar/fastify-api-reference"];
const directory = mkdtempSync(join(tmpdir(), "onair-scalar-"));
try {
  await Bun.write(join(directory, "package.json"), "{}");
  await Bun.$`bun add --exact --silent @scalar/api-reference@${version}`.cwd(directory);
  const map: { sources: readonly string[] } = await Bun.file(
    join(directory, "node_modules/@scalar/api-reference/dist/browser/standalone.js.map"),
  ).json();
  const packages: Contained[] = [];
  const names = new Map(map.sources.map((source) => [packageOf(source), versionOf(source)]));
  for (const [name, version] of names) packages.push(await described(name, version));
  packages.sort((one, other) => (one.name < other.name ? -1 : 1));
  const lines = packages.map((each) => `  ${JSON.stringify(each)}`).join(",\n");
  await Bun.write(
    join(import.meta.dir, "scalar-contents.json"),
    `{ "version": "${version}", "packages": [\n${lines}\n] }\n`,
  );
  process.stdout.write(`${packages.length} packages are in Scalar's script ${version}\n`);
} finally {
  rmSync(directory, { recursive: true });
}

/** Returns the package of a source: its name below node_modules, or else a folder of Scalar's repository. */
function packageOf(source: string): string {
  const [, folder] = /^(?:\.\.\/)+([a-z-]+)\/dist\//.exec(source) ?? [];
  const below = [...source.matchAll(/node_modules\/(?!\.pnpm)((?:@[^/]+\/)?[^/]+)\//g)].at(-1)?.[1];
  return below ?? (folder === undefined ? "@scalar/api-reference" : `@scalar/${folder}`);
}

/** Returns the version in the path of a source; undefined for Scalar's own packages. */
function versionOf(source: string): string | undefined {
  return [...source.matchAll(/\/\.pnpm\/@?[^/@]+@(\d[^/_(]*)/g)].at(-1)?.[1];
}

async function described(name: string, madeWith: string | undefined): Promise<Contained> {
  const found = () => [...new Bun.Glob(`**/node_modules/${name}/package.json`).scanSync(directory)];
  // A package that the script contains, but that the current release no longer depends on.
  if (found().length === 0) await Bun.$`bun add --silent ${name}`.cwd(directory);
  const [file] = found().sort((one, other) => one.length - other.length);
  if (file === undefined) throw new Error(`${name} is in Scalar's script, but could not be installed`);
  const manifest = await Bun.file(join(directory, file)).json();
  const { version, license } = manifest;
  return {
    name,
    version: madeWith ?? version,
    license,
    copyright: await copyrightOf(join(directory, file), manifest),
  };
}

async function copyrightOf(
  manifestFile: string,
  { author, name }: { author?: string | { name: string }; name: string },
): Promise<readonly string[]> {
  const place = dirname(manifestFile);
  const text = await Promise.all(licenceFiles(place).map((file) => Bun.file(join(place, file)).text()));
  const lines = text.join("\n").match(/^\W*copyright (?:\(c\)|©|\d).*$/gim) ?? [];
  const holder = typeof author === "object" ? author.name : (author ?? `the authors of ${name}`);
  return lines.length > 0 ? lines.map((line) => line.trim()) : [`Copyright (c) ${holder}`];
}
