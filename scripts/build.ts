/*
 * Makes the one executable: bun scripts/build.ts [--target bun-linux-arm64] [--outfile dist/onair]
 */
import { mkdirSync, rmSync, statSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { makePages, type PageFiles } from "../src/console/make.ts";
import { scalarScript } from "../src/http/openapi/scalar-script.ts";
import { makeSite, type SiteFiles } from "../src/site/make.ts";

const usage = "Usage: bun run build [--target bun-<os>-<architecture>] [--outfile FILE]";
const root = resolve(import.meta.dir, "..");

/** Puts made files in place of the module that makes them from a checkout, whose function has this name. */
const inPlace = (room: string, name: string, { files, ...rest }: PageFiles | SiteFiles): Bun.BunPlugin => ({
  name: `made ${name}`,
  setup(build) {
    build.onLoad({ filter: new RegExp(`/src/${room}/bundle\\.ts$`) }, () => {
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

/** Puts a file in place of the module that takes Scalar's script out of its package. */
const scriptInPlace = (file: string): Bun.BunPlugin => ({
  name: "Scalar's script",
  setup(build) {
    build.onLoad({ filter: /\/src\/http\/openapi\/scalar-script\.ts$/ }, () => ({
      contents: `import file from ${JSON.stringify(file)} with { type: "file" };
export const scalarScript = () => Bun.file(file).bytes();`,
      loader: "js",
    }));
  },
});

/** Builds into `outfile`, for this machine where `target` is undefined. Throws when anything goes wrong. */
async function build(outfile: string, target: string | undefined): Promise<void> {
  process.chdir(root); // the source map names files as seen from here
  mkdirSync(dirname(outfile), { recursive: true });
  // Before the build itself: one build inside of another never ends.
  const [pages, site] = [await makePages(), await makeSite()];
  // Always the same place, because its name goes into the executable.
  const script = resolve("node_modules/.cache/scalar.js");
  await Bun.write(script, await scalarScript());
  const { outputs } = await Bun.build({
    // Each with a name of its own, for the source maps.
    entrypoints: [
      "src/main.ts",
      "src/engine/worker.ts",
      "src/backups/backup-worker.ts",
      "src/doctor/database-worker.ts",
    ],
    plugins: [inPlace("console", "pages", pages), inPlace("site", "site", site), scriptInPlace(script)],
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
}

function readArguments() {
  try {
    return parseArgs({ options: { target: { type: "string" }, outfile: { type: "string" } } }).values;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n${usage}\n`);
    process.exit(2);
  }
}

const { target, outfile = resolve(root, "dist/onair") } = readArguments();
const path = resolve(outfile);
const shown = relative(process.cwd(), path);
try {
  await build(path, target);
  process.stdout.write(`${shown}  ${(statSync(path).size / 1e6).toFixed(1)} MB\n`);
} catch (error) {
  const reasons = error instanceof AggregateError ? error.errors : [error];
  process.stderr.write(`The build failed:\n${reasons.map((reason) => `  ${reason}\n`).join("")}`);
  process.exit(1);
}
