import { expect, test } from "bun:test";
import { dirname, join, relative } from "node:path";

const src = join(import.meta.dir, "../src");
const files = [...new Bun.Glob("**/*.ts").scanSync(src)].filter((file) => !file.endsWith(".d.ts"));

/** The rooms of `src` that each room may import from, besides itself; `*` stands for single files at the top. */
const allowed: Record<string, readonly string[]> = {
  domain: [],
  wire: [],
  ranking: ["domain"],
  store: ["domain"],
  webhooks: ["domain", "store", "*"],
  threads: ["domain", "store", "*"],
  engine: ["domain", "store", "webhooks", "threads", "*"],
  backups: ["domain", "store", "threads", "*"],
  batch: ["domain", "store", "ranking"],
  http: ["domain", "store", "ranking", "webhooks", "threads", "engine", "backups", "batch", "wire", "*"],
  doctor: ["domain", "store", "threads", "webhooks", "http", "*"],
  dev: ["domain", "store", "webhooks", "batch", "http", "*"],
  cli: ["domain", "store", "ranking", "webhooks", "engine", "backups", "batch", "http", "dev", "doctor", "*"],
};

const room = (file: string) => (file.includes("/") ? (file.split("/")[0] ?? "") : "*");

async function imports(file: string): Promise<string[]> {
  const text = await Bun.file(join(src, file)).text();
  return [...text.matchAll(/from "(\.[^"]+)"/g)]
    .map(([, path]) => relative(src, join(src, dirname(file), path ?? "")))
    .filter((path) => !path.startsWith(".."));
}

test("arrows between rooms point one way", async () => {
  const wrong: string[] = [];
  for (const file of files) {
    const from = room(file);
    if (from === "*") continue;
    for (const target of await imports(file)) {
      const to = room(target);
      if (to !== from && !allowed[from]?.includes(to)) wrong.push(`${file} → ${target}`);
    }
  }
  expect(wrong).toEqual([]);
});

test("SQL stays in store/sqlite; whoever needs data asks store/store.ts", async () => {
  const wrong: string[] = [];
  for (const file of files) {
    const builds = /^(engine|backups|cli|doctor|store\/sqlite)\//.test(file);
    const text = await Bun.file(join(src, file)).text();
    if (!file.startsWith("store/sqlite/") && /from "(bun:sqlite|drizzle-orm)/.test(text)) wrong.push(file);
    for (const target of await imports(file)) {
      if (target.startsWith("store/sqlite/") && !builds) wrong.push(`${file} → ${target}`);
    }
  }
  expect(wrong).toEqual([]);
});

test("only config.ts and the command line read the environment", async () => {
  const readers = [];
  for (const file of files) {
    if (/process\.env/.test(await Bun.file(join(src, file)).text())) readers.push(file);
  }
  expect(readers.sort()).toEqual(["http/production.ts", "main.ts"]);
});
