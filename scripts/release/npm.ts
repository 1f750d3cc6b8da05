/*
 * Makes the npm packages for `npx onair dev`: the small package `onair`, which also has `onair/client`, and a package
 * with the executable for each target, of which npm installs the matching one.
 */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { dependencies, description, license } from "../../package.json";
import { type Entry, tarGz } from "./archive.ts";
import type { Contents } from "./contents.ts";
import { type Target, targets } from "./targets.ts";

const root = resolve(import.meta.dir, "../..");

/**
 * Returns the version for npm. npm ignores what follows a "+", so a build after `1.0.0` is a pre-release of `1.0.1`:
 * `1.0.1-12.g44cb90d`.
 */
export function npmVersion(version: string): string {
  const [release = "", since] = version.split("+");
  if (since === undefined || release.includes("-")) return version.replace("+", ".");
  return `${release.replace(/\d+$/, (patch) => `${Number(patch) + 1}`)}-${since}`;
}

const nameFor = ({ name }: Target) => `@onair/${name}`;

/** Makes the package with the executable of one target. */
export function executableForNpm({ target, version, time, executable, files }: Contents): Entry {
  const { os, cpu, libc } = target.npm;
  const manifest = {
    name: nameFor(target),
    version: npmVersion(version),
    description: `The executable of onair for ${target.name}.`,
    license,
    os: [os],
    cpu: [cpu],
    ...(libc && { libc: [libc] }),
    // Otherwise Yarn keeps the executable inside an archive.
    preferUnplugged: true,
  };
  const licences = files.filter(({ path }) => ["LICENSE", "THIRD-PARTY-NOTICES.txt"].includes(path));
  return packed(manifest, time, [{ path: "bin/onair", content: executable, mode: 0o755 }, ...licences]);
}

/** Makes the package `onair`. */
export async function packageForNpm(ownVersion: string, time: number): Promise<Entry> {
  const version = npmVersion(ownVersion);
  const text = (path: string) => Bun.file(join(root, path)).text();
  const manifest = {
    name: "onair",
    version,
    description,
    license,
    type: "module",
    bin: { onair: "onair.js" },
    exports: { "./client": { types: "./client/onair.d.ts", default: "./client/onair.js" } },
    engines: { node: ">=18" },
    // Only the types of the client import this package; its code is in the bundle.
    dependencies: { "openapi-fetch": dependencies["openapi-fetch"] },
    optionalDependencies: Object.fromEntries(targets.map((target) => [nameFor(target), version])),
  };
  const own = [
    { path: "onair.js", content: await text("scripts/release/npm-onair.js"), mode: 0o755 },
    { path: "LICENSE", content: await text("LICENSE") },
    { path: "README.md", content: readme },
  ];
  return packed(manifest, time, [...own, ...(await clientFiles())]);
}

/** Builds `onair/client` and returns its files. */
async function clientFiles(): Promise<Entry[]> {
  const directory = mkdtempSync(join(tmpdir(), "onair-client-"));
  try {
    await Bun.$`${process.execPath} scripts/build-client.ts ${directory}`.cwd(root).quiet();
    const names = readdirSync(directory);
    return await Promise.all(
      names.map(async (name) => ({
        path: `client/${name}`,
        content: await Bun.file(join(directory, name)).text(),
      })),
    );
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function packed(manifest: { name: string; version: string }, time: number, files: readonly Entry[]): Entry {
  const all = [{ path: "package.json", content: `${JSON.stringify(manifest, null, 2)}\n` }, ...files];
  const inside = all.map((entry) => ({ ...entry, path: `package/${entry.path}` }));
  const name = manifest.name.replace("@", "").replace("/", "-");
  return { path: `${name}-${manifest.version}.tgz`, content: tarGz(inside, time) };
}

const readme = `# onair

${description}

    npx onair dev

runs a platform with sample data to develop bots and apps against; it prints addresses, a token, and calls to try. No Bun is
needed. \`import { createClient } from "onair/client"\` is the typed client of the API.
`;
