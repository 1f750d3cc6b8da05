import { readFileSync } from "node:fs";
import { join } from "node:path";

export const src = join(import.meta.dir, "../../src");

/** All files of `src` but those of types alone, by their paths in it. */
export const files = [...new Bun.Glob("**/*.{ts,tsx}").scanSync(src)].filter(
  (file) => !file.endsWith(".d.ts"),
);

const texts = new Map(files.map((file) => [file, readFileSync(join(src, file), "utf8")]));
export const textOf = (file: string): string => texts.get(file) ?? "";
