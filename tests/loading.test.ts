import { expect, test } from "bun:test";
import { dirname, join } from "node:path";
import { files, textOf } from "./support/sources.ts";

/** What loading these files loads before any of it runs: files of ours, and what is not ours. */
function loadedBy(...entries: readonly string[]): { ours: Set<string>; others: string[] } {
  const ours = new Set<string>();
  const others = new Set<string>();
  const transpiler = new Bun.Transpiler({ loader: "ts" });
  for (let file = entries[0], todo = entries.slice(1); file !== undefined; file = todo.pop()) {
    if (ours.has(file)) continue;
    ours.add(file);
    for (const { kind, path } of transpiler.scanImports(textOf(file))) {
      if (kind !== "import-statement") continue;
      if (!path.startsWith(".")) others.add(path);
      else if (path.endsWith(".ts")) todo.push(join(dirname(file), path));
    }
  }
  return { ours, others: [...others].sort() };
}

const schemas = ["@sinclair/typebox", "@sinclair/typebox/compiler", "@sinclair/typebox/errors"];
const database = ["bun:sqlite", "drizzle-orm", "drizzle-orm/bun-sqlite", "drizzle-orm/sqlite-core"];

// Loading takes from 1 ms to 15 ms each, for which every start would wait; docs/performance.md has the figures.
test("a start of the server loads these packages and modules of Node; others wait until they are needed", () => {
  const { ours, others } = loadedBy("main.ts", "cli/serve.ts");
  const node = ["node:fs", "node:path", "node:timers/promises", "node:util"];
  expect(others).toEqual([
    "@elysiajs/bearer",
    "@elysiajs/swagger",
    ...schemas,
    ...database,
    "elysia",
    "lru-cache",
    ...node,
  ]);
  const commands = [...ours].filter((file) => file.startsWith("cli/") || file.startsWith("dev/"));
  expect(commands.sort()).toEqual(["cli/command.ts", "cli/program.ts", "cli/serve.ts"]);
  const later = [
    "delivery/engine.ts",
    "delivery/attempt.ts",
    "api/http/platform-jwt.ts",
    "api/openapi/public.ts",
    "api/openapi/admin.ts",
    "api/openapi/document.ts",
    "web/bundle.ts",
    "web/site/bundle.ts",
  ];
  for (const file of [...later, "operations/backups/backup-worker.ts", "delivery/send/send.ts"]) {
    expect(files).toContain(file);
    expect([...ours]).not.toContain(file);
  }
  // Loaded when the public listener already answers.
  expect([...loadedBy("server/admin.ts").ours]).not.toContain("delivery/send/send.ts");
});

test("so does the engine's thread, which loads what sending needs with its first delivery", () => {
  const { others } = loadedBy("server/engine-thread.ts", "server/storage-at.ts", "delivery/engine.ts");
  const node = ["node:fs", "node:os", "node:path", "node:timers/promises"];
  expect(others).toEqual([...schemas, ...database, ...node]);
});

test("nothing for PostgreSQL is loaded by a start on a data directory, or by a command that names no database", () => {
  const commands = files.filter((file) => /^(cli|dev)\//.test(file));
  const engine = ["server/engine-thread.ts", "server/storage-at.ts", "delivery/engine.ts"];
  const { ours } = loadedBy(
    "main.ts",
    "server/admin.ts",
    "operations/checks/checks.ts",
    ...commands,
    ...engine,
  );
  expect([...ours].filter((file) => file.startsWith("postgres/"))).toEqual([]);
  expect([...loadedBy("postgres/door.ts").ours]).toContain("postgres/schema.ts");
});
