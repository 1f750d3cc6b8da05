import { mkdirSync, rmSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { makePages, type PageFiles } from "../src/console/make.ts";
import { scalarScript } from "../src/http/openapi/scalar-script.ts";
import { makeSite, type SiteFiles } from "../src/site/make.ts";
import { commitOf } from "./commit.ts";

const root = resolve(import.meta.dir, "..");

/** Puts made files in place of the module that makes them from a checkout, whose function has this name. */
const inPlace = (folder: string, name: string, { files, ...rest }: PageFiles | SiteFiles): Bun.BunPlugin => ({
  name: `made ${name}`,
  setup(build) {
    build.onLoad({ filter: new RegExp(`/src/${folder}/bundle\\.ts$`) }, () => {
      const texts = Object.fromEntries(
        Object.entries(files).map(([name, bytes]) => [name, bytes.toBase64()]),
      );
      const packed = Bun.gzipSync(JSON.stringify(texts), { level: 9 }).toBase64();
      const contents = `const packed = "${packed}";
export const ${name} = async () => {
  const texts = JSON.parse(new TextDecoder().decode(Bun.gunzipSync(Uint8Array.fromBase64(packed))));
  const files = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, Uint8Array.fromBase64(text)]));
  return { files, ...${JSON.stringify(rest)} };
};`;
      return { contents, loader: "js" };
    });
  },
});

/** Where Scalar's script is put, below the checkout: its path, which goes into the executable, is the same for all checkouts. */
const script = "node_modules/.cache/scalar.js";

/** Puts that file in place of the module that takes it out. */
const scriptInPlace: Bun.BunPlugin = {
  name: "Scalar's script",
  setup(build) {
    build.onLoad({ filter: /\/src\/http\/openapi\/scalar-script\.ts$/ }, () => ({
      contents: `import file from "../../../${script}" with { type: "file" };
export const scalarScript = () => Bun.file(file).bytes();`,
      loader: "js",
    }));
  },
};

/** Puts the commit of the checkout in place of the module that knows none. */
const commitInPlace: Bun.BunPlugin = {
  name: "commit",
  setup(build) {
    build.onLoad({ filter: /\/src\/runtime\/commit\.ts$/ }, () => ({
      contents: `export const commit = ${JSON.stringify(commitOf(root))};`,
      loader: "js",
    }));
  },
};

/**
 * Builds the executable into `outfile`, for this machine where `target` is undefined; Bun fetches its runtime for others
 * from the npm registry. The same commit gives the same bytes under the same file name, wherever the checkout is. Gives
 * the names of the packages in it, besides those of the pages. Throws when anything goes wrong.
 */
export async function buildExecutable(outfile: string, target: string | undefined): Promise<Set<string>> {
  process.chdir(root); // the source map names files as seen from here
  mkdirSync(dirname(outfile), { recursive: true });
  // Before the build itself: one build inside of another never ends.
  const [pages, site] = [await makePages(), await makeSite()];
  await Bun.write(script, await scalarScript());
  const { outputs, metafile } = await Bun.build({
    // Each with a name of its own, for the source maps.
    entrypoints: [
      "src/main.ts",
      "src/engine/worker.ts",
      "src/backups/backup-worker.ts",
      "src/doctor/database-worker.ts",
    ],
    plugins: [
      inPlace("console", "pages", pages),
      inPlace("site", "site", site),
      scriptInPlace,
      commitInPlace,
    ],
    target: "bun",
    format: "esm",
    // First answer 66 ms after the start, 120 ms without, for 4 MB more of file.
    bytecode: true,
    // What is loaded later stands in files of its own, and both threads share theirs: 10 ms and 4 MB of memory less.
    splitting: true,
    // Never identifiers: Elysia knows errors by `error.constructor.name`, and without it validation lets all pass.
    minify: { whitespace: true, syntax: true, identifiers: false },
    // Inside the executable, so that stacks in the log name the source; 0.8 MB and no slower start.
    sourcemap: "linked",
    metafile: true,
    // Bun would write "development" into the code.
    define: { "process.env.NODE_ENV": '"production"' },
    compile: {
      outfile,
      // What lies in the working directory is not the server's to obey.
      autoloadDotenv: false,
      autoloadBunfig: false,
      autoloadTsconfig: false,
      autoloadPackageJson: false,
      ...(target !== undefined && { target: target as Bun.Build.CompileTarget }),
    },
  });
  for (const { kind, path } of outputs) {
    if (kind === "sourcemap") rmSync(path);
    else if (kind !== "entry-point") throw new Error(`${path} was left outside of the executable`);
  }
  const packages = Object.keys(metafile?.inputs ?? {}).map((file) => {
    return /.*node_modules\/((?:@[^/]+\/)?[^/.]+)\//.exec(file)?.[1];
  });
  return new Set(packages.filter((name) => name !== undefined));
}
