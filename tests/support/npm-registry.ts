import { testListener } from "./listener.ts";

/** At the top of a file: a registry on loopback that has these packages (`.tgz`) and no others. Gives its address. */
export async function npmRegistry(packages: readonly Uint8Array[]): Promise<string> {
  const versions = new Map<string, object>();
  const bytesOf = new Map<string, Uint8Array<ArrayBuffer>>();
  const { url } = testListener((request) => {
    const path = decodeURIComponent(new URL(request.url).pathname.slice(1));
    const bytes = bytesOf.get(path);
    if (bytes) return new Response(bytes);
    const found = versions.get(path);
    return found ? Response.json(found) : Response.json({ error: "Not found" }, { status: 404 });
  });
  for (const content of packages) {
    const bytes = new Uint8Array(content);
    const manifest = await manifestIn(bytes);
    const { name, version } = manifest;
    const integrity = `sha512-${Bun.SHA512.hash(bytes, "base64")}`;
    const dist = { tarball: `${url}/-/${name}.tgz`, integrity };
    versions.set(name, {
      name,
      "dist-tags": { latest: version },
      versions: { [version]: { ...manifest, dist } },
    });
    bytesOf.set(`-/${name}.tgz`, bytes);
  }
  return `${url}/`;
}

async function manifestIn(bytes: Uint8Array): Promise<{ name: string; version: string }> {
  const child = Bun.spawn(["tar", "--extract", "--gzip", "--to-stdout", "package/package.json"], {
    stdin: bytes,
    stdout: "pipe",
  });
  return child.stdout.json();
}
