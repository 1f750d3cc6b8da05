/*
 * Builds `onair/client` for Node, Deno and browsers, in dist/client or the given directory: one JavaScript file,
 * its type declarations, and the licences of the packages in it.
 */
import { copyFileSync, mkdirSync, rmSync, statSync } from "node:fs";
import { relative, resolve } from "node:path";
import { clientNotices } from "./release/notices.ts";
import { bundledPackages, packagesIn } from "./supply/bundled.ts";

const root = resolve(import.meta.dir, "..");
const entry = resolve(root, "src/client/onair.ts");
const out = resolve(process.argv[2] ?? resolve(root, "dist/client"));

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const { metafile } = await Bun.build({
  entrypoints: [entry],
  outdir: out,
  target: "browser",
  format: "esm",
  metafile: true,
});
const inside = packagesIn(metafile);
const packages = (await bundledPackages(inside)).filter(({ name }) => inside.has(name));
await Bun.write(resolve(out, "THIRD-PARTY-NOTICES.txt"), await clientNotices(packages));
const options = ["--declaration", "--emitDeclarationOnly", "--strict", "--exactOptionalPropertyTypes"];
const modules = ["--target", "esnext", "--module", "esnext", "--moduleResolution", "bundler"];
const tsc = [resolve(root, "node_modules/.bin/tsc"), "--ignoreConfig", entry, "--outDir", out];
await Bun.$`${tsc} ${options} ${modules} --rewriteRelativeImportExtensions --skipLibCheck --types bun`;
copyFileSync(resolve(root, "src/client/api.d.ts"), resolve(out, "api.d.ts"));
const bytes = statSync(resolve(out, "onair.js")).size;
process.stdout.write(`${relative(process.cwd(), out)}  ${(bytes / 1e3).toFixed(0)} kB\n`);
