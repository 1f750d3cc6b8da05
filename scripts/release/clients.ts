/*
 * Makes the packages of the clients: a wheel and a source distribution for Python, and the module for Go. Their types
 * and calls must have been generated (`bun scripts/api-types.ts`).
 */
import { join, resolve } from "node:path";
import { type Entry, tarGz } from "./archive.ts";
import { zip } from "./zip.ts";

const root = resolve(import.meta.dir, "../..");
const text = (path: string) => Bun.file(join(root, path)).text();

/** Makes the packages of a version. All files have this time, in seconds since 1970. */
export async function clientPackages(version: string, time: number): Promise<Entry[]> {
  return [...(await packagesForPython(pythonVersion(version), time)), await moduleForGo(version, time)];
}

/**
 * Returns the version for Python (PEP 440): `1.0.0-rc.1` is `1.0.0rc1`, and any other pre-release one for development.
 * What follows a "+" stays.
 */
export function pythonVersion(version: string): string {
  const [, release = "", before, build] = /^([\d.]+)(?:-([^+]+))?(?:\+(.+))?$/.exec(version) ?? [];
  const local = build === undefined ? "" : `+${build}`;
  if (before === undefined) return release + local;
  const [, kind, number = "0"] = /^(alpha|beta|rc)(?:\.?(\d+))?$/.exec(before) ?? [];
  if (kind !== undefined) return `${release}${kind === "rc" ? kind : kind.charAt(0)}${number}${local}`;
  return `${release}.dev0+${[before.replace(/[^a-z0-9]+/gi, "."), build].filter(Boolean).join(".")}`;
}

async function filesIn(folder: string, pattern: string): Promise<Entry[]> {
  const names = [...new Bun.Glob(pattern).scanSync(join(root, folder))].sort();
  return Promise.all(names.map(async (path) => ({ path, content: await text(`${folder}/${path}`) })));
}

async function packagesForPython(version: string, time: number): Promise<Entry[]> {
  const folder = "clients/python";
  const [project, readme, licence] = await Promise.all([
    text(`${folder}/pyproject.toml`),
    text(`${folder}/README.md`),
    text("LICENSE"),
  ]);
  const field = (name: string) => new RegExp(`^${name} = "(.+)"$`, "m").exec(project)?.[1] ?? "";
  const metadata = `Metadata-Version: 2.1
Name: ${field("name")}
Version: ${version}
Summary: ${field("description")}
License: MIT
Requires-Python: ${field("requires-python")}
Description-Content-Type: text/markdown

${readme}`;
  const name = `${field("name").replace("-", "_")}-${version}`;
  const modules = await filesIn(`${folder}/src`, "onair_client/*.{py,typed}");
  const info = (file: string, content: string): Entry => ({ path: `${name}.dist-info/${file}`, content });
  const inWheel = [
    ...modules,
    info("METADATA", metadata),
    info("WHEEL", "Wheel-Version: 1.0\nGenerator: onair\nRoot-Is-Purelib: true\nTag: py3-none-any\n"),
    info("LICENSE", licence),
  ];
  const record = inWheel.map(({ path, content }) => {
    const hash = Buffer.from(Bun.SHA256.hash(content) as Uint8Array).toString("base64url");
    return `${path},sha256=${hash},${Buffer.byteLength(content as string)}\n`;
  });
  const wheel = zip([...inWheel, info("RECORD", `${record.join("")}${name}.dist-info/RECORD,,\n`)], time);
  const inSource = [
    { path: "PKG-INFO", content: metadata },
    { path: "pyproject.toml", content: project.replace(/^version = .*$/m, `version = "${version}"`) },
    { path: "README.md", content: readme },
    { path: "LICENSE", content: licence },
    ...modules.map(({ path, content }) => ({ path: `src/${path}`, content })),
    ...(await filesIn(folder, "tests/*.py")),
  ];
  const source = tarGz(
    inSource.map((entry) => ({ ...entry, path: `${name}/${entry.path}` })),
    time,
  );
  return [
    { path: `${name}-py3-none-any.whl`, content: wheel },
    { path: `${name}.tar.gz`, content: source },
  ];
}

async function moduleForGo(version: string, time: number): Promise<Entry> {
  const name = `onair-go-${version}`;
  const files = [
    ...(await filesIn("clients/go", "*.{go,mod}")),
    { path: "LICENSE", content: await text("LICENSE") },
  ];
  const inside = files.map((entry) => ({ ...entry, path: `${name}/${entry.path}` }));
  return { path: `${name}.zip`, content: zip(inside, time) };
}
