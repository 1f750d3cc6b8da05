import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Build } from "../../src/runtime/build.ts";
import { buildExecutable } from "../executable.ts";
import { bundledPackages } from "../supply/bundled.ts";
import type { Entry } from "./archive.ts";
import { manPages } from "./man-pages.ts";
import { billOfMaterials, thirdPartyNotices } from "./notices.ts";
import type { Target } from "./targets.ts";

const root = resolve(import.meta.dir, "../..");
const text = (path: string) => Bun.file(join(root, path)).text();

/** The contents of a release for one target. */
export interface Contents {
  readonly target: Target;
  readonly version: string;
  /** Seconds since 1970, the time of all files. */
  readonly time: number;
  readonly executable: Uint8Array;
  /** The files beside the executable, with their paths in the archive. */
  readonly files: readonly Entry[];
}

/** The executable of a target, and the names of the packages in it. */
interface Built {
  readonly version: string;
  readonly executable: Uint8Array;
  readonly packages: Iterable<string>;
}

/** Builds the executable of a target. */
export async function executableOf(target: Target, build: Build): Promise<Built> {
  const directory = mkdtempSync(join(tmpdir(), "onair-release-"));
  try {
    // The file name becomes part of the executable, so it must always be the same.
    const file = join(directory, "onair");
    const packages = await buildExecutable(file, target.bun, build);
    return { version: build.version, executable: await Bun.file(file).bytes(), packages };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Collects the files that are released with an executable. */
export async function contentsOf(target: Target, time: number, built: Built): Promise<Contents> {
  const { version } = built;
  const packages = await bundledPackages(built.packages);
  const pages = Object.entries(await manPages(version, time));
  const files: Entry[] = [
    { path: "LICENSE", content: await text("LICENSE") },
    { path: "THIRD-PARTY-NOTICES.txt", content: await thirdPartyNotices(packages) },
    { path: "sbom.cdx.json", content: billOfMaterials(packages, { version, target, time }) },
    { path: "completions/onair.bash", content: await text("src/cli/completion/onair.bash") },
    { path: "completions/_onair", content: await text("src/cli/completion/onair.zsh") },
    { path: "completions/onair.fish", content: await text("src/cli/completion/onair.fish") },
    ...pages.map(([name, content]) => ({ path: `man/man1/${name}`, content })),
  ];
  if (target.npm.os === "linux") {
    for (const name of ["onair.service", "Containerfile"])
      files.push({ path: name, content: await text(`ops/${name}`) });
  }
  return { target, version, time, executable: built.executable, files };
}
