import { expect, test } from "bun:test";
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ownDirectory } from "../support/server.ts";

const root = join(import.meta.dir, "../..");

test("a released migration is not written anew, in a checkout without tags either", async () => {
  const checkout = ownDirectory();
  for (const path of ["scripts/migration.ts", "drizzle", "tests/released/1.0/migrations.json"])
    cpSync(join(root, path), join(checkout, path), { recursive: true });
  const script = Bun.spawn([process.execPath, "scripts/migration.ts"], { cwd: checkout, stderr: "pipe" });
  expect(await script.stderr.text()).toContain("needs a name: bun run migration NAME");
  expect(await script.exited).toBe(1);
  const start = "drizzle/sqlite/0000_start.sql";
  expect(readFileSync(join(checkout, start), "utf8")).toBe(readFileSync(join(root, start), "utf8"));
});
