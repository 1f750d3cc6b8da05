import { mkdirSync, rmSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Build } from "../src/runtime/build.ts";
import { makePages, type PageFiles } from "../src/web/make.ts";
import { makeSite, type SiteFiles } from "../src/web/site/make.ts";
import { packagesIn } from "./supply/bundled.ts";

const root = resolve(import.meta.dir, "..");

/** Replaces the module that makes files from a checkout, by a module with the made files. `name` is its function. */
const inPlace = (folder: string, name: string, { files, ...rest }: PageFiles | SiteFiles): Bun.BunPlugin => ({
  name: `made ${name}`,
  setup(build) {
    build.onLoad({ filter: new RegExp(`/src/${folder}/bundle\\.ts$`) }, () => {
      const texts = Object.fromEntries(
        Object.entries(files).map(([name, bytes]) => [name, bytes.toBase64()]),
      );
      const packed = Bun.gzipSync(JSON.stringify({ texts, rest }), { level: 9 }).toBase64();
      const contents = `const packed = "${packed}";
export const ${name} = async () => {
  const { texts, rest } = JSON.parse(new TextDecoder().decode(Bun.gunzipSync(Uint8Array.fromBase64(packed))));
  const files = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, Uint8Array.fromBase64(text)]));
  return { files, ...rest };
};`;
      return { contents, loader: "js" };
    });
  },
});

/** Replaces the module with the version of the source, by a module with that of the build. */
const buildInPlace = (made: Build): Bun.BunPlugin => ({
  name: "version",
  setup(build) {
    build.onLoad({ filter: /\/src\/runtime\/build\.ts$/ }, () => ({
      contents: `export const build = ${JSON.stringify(made)};`,
      loader: "js",
    }));
  },
});

/**
 * Builds the executable with this version into `outfile`, for this machine when `target` is undefined; for other targets, Bun downloads
 * its runtime from the npm registry. The same commit and file name give the same bytes in every checkout. Returns the
 * names of the packages inside, without those of the pages. Throws when the build fails.
 */
export async function buildExecutable(
  outfile: string,
  target: string | undefined,
  build: Build,
): Promise<Set<string>> {
  process.chdir(root); // the source map has paths relative to this directory
  mkdirSync(dirname(outfile), { recursive: true });
  // Made before the build, because a build inside another one never ends.
  const [pages, site] = [await makePages(), await makeSite()];
  const { outputs, metafile } = await Bun.build({
    // Each needs its own name, for the source maps.
    entrypoints: [
      "src/main.ts",
      "src/server/engine-thread.ts",
      "src/operations/backups/backup-worker.ts",
      "src/operations/checks/database-worker.ts",
    ],
    plugins: [inPlace("web", "pages", pages), inPlace("web/site", "site", site), buildInPlace(build)],
    target: "bun",
    format: "esm",
    // Halves the time to the first answer, for a larger file.
    bytecode: true,
    // Modules loaded on demand are in separate files, and both threads share files. This saves start time and memory.
    splitting: true,
    // Never identifiers: Elysia recognizes errors by `error.constructor.name`; otherwise validation accepts everything.
    minify: { whitespace: true, syntax: true, identifiers: false },
    // Inside the executable, so that stacks in the log name source files. It does not slow the start.
    sourcemap: "linked",
    metafile: true,
    // By default Bun writes "development" into the code.
    define: { "process.env.NODE_ENV": '"production"' },
    compile: {
      outfile,
      // The server must not read configuration from its working directory.
      autoloadDotenv: false,
      autoloadBunfig: false,
      autoloadTsconfig: false,
      autoloadPackageJson: false,
      ...(target !== undefined && { target: target as Bun.Build.CompileTarget }),
    },
  });
  for (const { kind, path } of outputs) {
    if (kind === "sourcemap") rmSync(path);
    else if (kind !== "entry-point") throw new Error(`${path} is missing from the executable`);
  }
  return packagesIn(metafile);
}
