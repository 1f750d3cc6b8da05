import { join, resolve } from "node:path";
import scalar from "./scalar-contents.json";

export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** An expression of SPDX, or what its package.json says instead. */
  readonly license: string;
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

const root = resolve(import.meta.dir, "../..");

/**
 * The packages that may go into the executable: `dependencies` of package.json and all that these need, and what is inside
 * Scalar's script. Sorted by name. Rejects when one of them is not installed.
 */
export async function bundledPackages(): Promise<readonly BundledPackage[]> {
  const found = new Map<string, BundledPackage>();
  const add = ({ name, version, license = "none" }: BundledPackage | Manifest) => {
    found.set(`${name}@${version}`, { name, version, license });
  };
  const visit = async (directory: string, names: readonly string[]): Promise<void> => {
    for (const name of names) {
      const place = await installedIn(directory, name);
      const manifest = await manifestIn(place);
      if (found.has(`${manifest.name}@${manifest.version}`)) continue;
      add(manifest);
      await visit(place, Object.keys(manifest.dependencies ?? {}));
    }
  };
  const own = await manifestIn(root);
  await visit(root, Object.keys(own.dependencies ?? {}));
  for (const contained of scalar.packages) add(contained);
  return [...found.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
}

const manifestIn = (directory: string): Promise<Manifest> => Bun.file(join(directory, "package.json")).json();

/** Where a package that another one needs is installed: beside it, or further up. */
async function installedIn(directory: string, name: string): Promise<string> {
  for (let at = directory; at.startsWith(root); at = resolve(at, "..")) {
    const place = join(at, "node_modules", name);
    if (await Bun.file(join(place, "package.json")).exists()) return place;
  }
  throw new Error(`${name} is not installed: run bun install`);
}
