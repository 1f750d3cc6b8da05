import { readdirSync } from "node:fs";
import { join, resolve } from "node:path";

export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** An SPDX expression, or any other value in package.json. */
  readonly license: string;
  /** The installation directory. */
  readonly directory: string;
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

const root = resolve(import.meta.dir, "../..");

/**
 * Returns the packages that may be in the executable, sorted by name: `dependencies` of package.json, `more` by name, and
 * all their dependencies. Rejects when one of them is not installed.
 */
export async function bundledPackages(more: Iterable<string> = []): Promise<readonly BundledPackage[]> {
  const found = new Map<string, BundledPackage>();
  const visit = async (directory: string, names: readonly string[]): Promise<void> => {
    for (const name of names) {
      const place = await installedIn(directory, name);
      const manifest = await manifestIn(place);
      const { version, license = "none" } = manifest;
      const key = `${manifest.name}@${version}`;
      if (found.has(key)) continue;
      found.set(key, { name: manifest.name, version, license, directory: place });
      await visit(place, neededBy(manifest));
    }
  };
  const own = await manifestIn(root);
  await visit(root, [...Object.keys(own.dependencies ?? {}), ...more]);
  return [...found.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** Returns the names of the packages in a bundle. @param metafile that of its build */
export function packagesIn(metafile: Bun.BuildMetafile | undefined): Set<string> {
  const names = Object.keys(metafile?.inputs ?? {}).map((file) => {
    return /.*node_modules\/((?:@[^/]+\/)?[^/.]+)\//.exec(file)?.[1];
  });
  return new Set(names.filter((name) => name !== undefined));
}

/** Returns the dependencies that are bundled with a package; optional peers are not installed for it. */
function neededBy({ dependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} }: Manifest) {
  const peers = Object.keys(peerDependencies).filter((name) => !peerDependenciesMeta[name]?.optional);
  return [...Object.keys(dependencies), ...peers];
}

/** Returns the licence and notice files of a package. */
export const licenceFiles = (directory: string): readonly string[] =>
  readdirSync(directory)
    .filter((name) => /^(licen[cs]e|copying|notice)([.-]|$)/i.test(name))
    .sort();

const manifestIn = (directory: string): Promise<Manifest> => Bun.file(join(directory, "package.json")).json();

/** Finds the installation directory of a dependency: in the package, or further up. */
async function installedIn(directory: string, name: string): Promise<string> {
  for (let at = directory; at.startsWith(root); at = resolve(at, "..")) {
    const place = join(at, "node_modules", name);
    if (await Bun.file(join(place, "package.json")).exists()) return place;
  }
  throw new Error(`${name} is not installed: run bun install`);
}
