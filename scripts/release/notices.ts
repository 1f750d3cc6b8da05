/* Makes the licence notices for everything inside the executable, and a bill of materials. */
import { dirname, join } from "node:path";
import lock from "../../bun.lock";
import { type BundledPackage, licenceFiles } from "../supply/bundled.ts";
import type { Target } from "./targets.ts";

const line = `\n${"-".repeat(100)}\n\n`;
const licence = (name: string) => Bun.file(join(import.meta.dir, "licences", `${name}.txt`)).text();

/** Returns the licences of these packages and of Bun as one text. Throws when a licence text is missing. */
export async function thirdPartyNotices(packages: readonly BundledPackage[]): Promise<string> {
  const own = await Promise.all(packages.map(noticeOf));
  const runtime = dirname(Bun.resolveSync("bun-types/package.json", import.meta.dir));
  const page = await Bun.file(join(runtime, "docs/project/license.mdx")).text();
  const bun = page.slice(page.indexOf("---\n", 4) + 4);
  return [
    "onair is one executable, which contains the following software.\n",
    `Bun ${Bun.version}, the runtime, and the libraries linked into it, as listed by its authors:\n${bun}`,
    `GNU Lesser General Public License, version 2.1\n\n${await licence("LGPL-2.1")}`,
    `Apache License, version 2.0\n\n${await licence("Apache-2.0")}`,
    ...own,
  ].join(line);
}

/** Returns the licences of the packages in `onair/client`. Throws when a licence text is missing. */
export async function clientNotices(packages: readonly BundledPackage[]): Promise<string> {
  const own = await Promise.all(packages.map(noticeOf));
  return ["onair/client is one file, which contains the following software.\n", ...own].join(line);
}

async function noticeOf({ name, version, license, directory }: BundledPackage): Promise<string> {
  const texts = await Promise.all(
    licenceFiles(directory).map((file) => Bun.file(join(directory, file)).text()),
  );
  const head = `${name} ${version} (${license})\n`;
  if (texts.length > 0) return `${head}\n${texts.join("\n")}`;
  const { author } = await Bun.file(join(directory, "package.json")).json();
  const holder = typeof author === "object" ? author.name : (author ?? `the authors of ${name}`);
  return `${head}\nCopyright (c) ${holder}. The package has no licence file; this is the text of its licence.\n\n${await licence(license)}`;
}

/** Returns the bill of materials of one executable, in CycloneDX 1.6. */
export function billOfMaterials(
  packages: readonly BundledPackage[],
  { version, target, time }: { readonly version: string; readonly target: Target; readonly time: number },
): string {
  const { bun, ...linked } = process.versions;
  const components = [
    { type: "platform", ...npmComponent(target.runtime, bun ?? Bun.version, "MIT") },
    ...Object.entries(linked)
      .filter(([name]) => !namesOfInterfaces.has(name))
      .map(([name, version]) => ({ type: "library", "bom-ref": `bun/${name}`, name, version })),
    ...packages.map(({ name, version, license }) => ({
      type: "library",
      ...npmComponent(name, version, license),
    })),
  ];
  const root = { type: "application", "bom-ref": `onair@${version}`, name: "onair", version };
  const content = {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      timestamp: new Date(time * 1000).toISOString().replace(".000Z", "Z"),
      component: {
        ...root,
        licenses: [{ license: { id: "MIT" } }],
        properties: [{ name: "target", value: target.name }],
      },
    },
    components,
    dependencies: [{ ref: root["bom-ref"], dependsOn: components.map((component) => component["bom-ref"]) }],
  };
  return `${JSON.stringify(content, null, 2)}\n`;
}

/** Entries of `process.versions` that are not libraries, but versions of interfaces that Bun implements. */
const namesOfInterfaces = new Set([
  "node",
  "v8",
  "uv",
  "napi",
  "modules",
  "openssl",
  "unicode",
  "typescript",
]);

/** The integrity of packages by name and version, as in npm: SHA-512 in base64. */
const integrities = new Map(Object.values(lock.packages).map((parts) => [parts[0], `${parts.at(-1)}`]));

function npmComponent(name: string, version: string, license: string) {
  const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  const integrity = integrities.get(`${name}@${version}`);
  const hash =
    integrity === undefined
      ? undefined
      : Buffer.from(integrity.replace("sha512-", ""), "base64").toString("hex");
  const isExpression = / (AND|OR) /.test(license);
  return {
    "bom-ref": purl,
    name,
    version,
    licenses: isExpression ? [{ expression: license }] : [{ license: { id: license } }],
    purl,
    ...(hash !== undefined && { hashes: [{ alg: "SHA-512", content: hash }] }),
  };
}
