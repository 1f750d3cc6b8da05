import { join, resolve } from "node:path";
import { ar, type Entry, tar, tarGz } from "./archive.ts";
import type { Contents } from "./contents.ts";

const scripts = resolve(import.meta.dir, "../../ops/debian");
const settings = "etc/onair/onair.toml";
const maintainer = "the On Air authors <maintainers@onair.example>";

/** Returns the version for Debian, where a pre-release sorts before its version only with "~". */
export const debianVersion = (version: string): string => version.replaceAll("-", "~");

/** Makes the package of one target for Debian and Ubuntu, compressed by zstd at a level from 1 to 19. */
export async function debianPackage(
  { version: ownVersion, time, executable, files }: Contents,
  architecture: string,
  level = 9,
): Promise<Entry> {
  const version = debianVersion(ownVersion);
  const data: Entry[] = [
    { path: "usr/bin/onair", content: executable, mode: 0o755 },
    { path: settings, content: await Bun.file(join(scripts, "onair.toml")).text() },
    { path: "usr/share/doc/onair/copyright", content: copyright(files) },
    {
      path: "usr/share/doc/onair/changelog.gz",
      content: Bun.gzipSync(changelog(version, time), { level: 9 }),
    },
    ...files.flatMap(placed),
  ];
  const size = data.reduce((total, { content }) => total + Math.ceil(content.length / 1024), 0);
  const control = `Package: onair
Version: ${version}
Architecture: ${architecture}
Maintainer: ${maintainer}
Installed-Size: ${size}
Depends: adduser, init-system-helpers (>= 1.54), libc6 (>= 2.17)
Section: net
Priority: optional
Description: public developer API of a live-streaming platform
 User profiles and search, live categories, OAuth tokens, and event webhooks
 that arrive. SQLite is inside; nothing else needs to run.
`;
  const sums = data
    .filter(({ path }) => path !== settings)
    .map(({ path, content }) => `${Bun.MD5.hash(content, "hex")}  ${path}\n`);
  const about: Entry[] = [
    { path: "control", content: control },
    { path: "conffiles", content: `/${settings}\n` },
    { path: "md5sums", content: sums.sort().join("") },
  ];
  for (const name of ["postinst", "prerm", "postrm"]) {
    about.push({ path: name, content: await Bun.file(join(scripts, name)).text(), mode: 0o755 });
  }
  const members = [
    { path: "debian-binary", content: "2.0\n" },
    { path: "control.tar.gz", content: tarGz(about, time) },
    { path: "data.tar.zst", content: Bun.zstdCompressSync(tar(data, time), { level }) },
  ];
  return { path: `onair_${version}_${architecture}.deb`, content: ar(members, time) };
}

/** Returns a file of the archive at its place in Debian; licences are in the copyright file instead. */
function placed({ path, content }: Entry): Entry[] {
  const places: Readonly<Record<string, string>> = {
    "onair.service": "usr/lib/systemd/system/onair.service",
    "sbom.cdx.json": "usr/share/doc/onair/sbom.cdx.json",
    "completions/onair.bash": "usr/share/bash-completion/completions/onair",
    "completions/_onair": "usr/share/zsh/vendor-completions/_onair",
    "completions/onair.fish": "usr/share/fish/vendor_completions.d/onair.fish",
  };
  if (path.startsWith("man/")) {
    const packed = Bun.gzipSync(content as string, { level: 9 });
    return [{ path: `usr/share/${path}.gz`, content: packed }];
  }
  const place = places[path];
  return place === undefined ? [] : [{ path: place, content }];
}

/** Makes the changelog that Debian requires, with an entry for this version. The release notes list the changes. */
const changelog = (version: string, time: number): string => `onair (${version}) unstable; urgency=medium

  * Release of On Air ${version}.

 -- ${maintainer}  ${new Date(time * 1000).toUTCString().replace("GMT", "+0000")}
`;

const copyright = (files: readonly Entry[]): string =>
  files
    .filter(({ path }) => path === "LICENSE" || path === "THIRD-PARTY-NOTICES.txt")
    .map(({ content }) => content)
    .join("\n\n");
