import { cpSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Migration } from "../../src/store/applied-migrations.ts";

const root = join(import.meta.dir, "../..");

interface OtherBuild {
  readonly version: string;
  /** Migrations of this build alone, after those of the checkout, in both databases. */
  readonly migrations?: readonly Migration[];
}

/**
 * Makes a copy of the checkout, in a new directory below `parent`, that is another version, as one some commits later.
 * Returns the command that runs it from its source.
 */
export function otherBuild(parent: string, { version, migrations = [] }: OtherBuild): readonly string[] {
  const directory = mkdtempSync(join(parent, "build-"));
  for (const name of ["src", "drizzle", "scripts", "tsconfig.json"])
    cpSync(join(root, name), join(directory, name), { recursive: true });
  for (const name of ["node_modules", "docs", "README.md", "LICENSE"])
    symlinkSync(join(root, name), join(directory, name));
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  writeFileSync(join(directory, "package.json"), JSON.stringify({ ...manifest, version }));
  for (const file of ["src/postgres/migrations.ts", "src/store/sqlite/migrations.ts"]) {
    const text = readFileSync(join(root, file), "utf8");
    const list = /(: readonly Migration\[\] = \[[^\]]*?),?\s*\];/;
    if (!list.test(text)) throw new Error(`${file} has no list of migrations`);
    const more = migrations.map((migration) => `, ${JSON.stringify(migration)}`).join("");
    writeFileSync(
      join(directory, file),
      text.replace(list, (_, begin) => `${begin}${more}];`),
    );
  }
  return [process.execPath, "--no-env-file", join(directory, "src/main.ts")];
}
