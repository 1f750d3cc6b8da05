import { expect, test } from "bun:test";
import { join } from "node:path";

const root = join(import.meta.dir, "..");
const read = (path: string) => Bun.file(join(root, path)).text();

test("every test that docs/public-api.md names exists", async () => {
  const rows = (await read("docs/public-api.md")).matchAll(/^\|.*\| (\S+\.test\.ts) › (.+?) *\|$/gm);
  const missing: string[] = [];
  let count = 0;
  for (const [, file = "", name = ""] of rows) {
    count++;
    const text = await read(`tests/${file}`).catch(() => "");
    if (!text.includes(`"${name}"`)) missing.push(`${file} › ${name}`);
  }
  expect(missing).toEqual([]);
  expect(count).toBeGreaterThan(50);
});

test("docs/architecture.md gives a reason for every dependency", async () => {
  const { dependencies, devDependencies } = JSON.parse(await read("package.json"));
  const architecture = await read("docs/architecture.md");
  const unexplained = Object.keys({ ...dependencies, ...devDependencies }).filter(
    (name) => !architecture.includes(`\`${name}\``),
  );
  expect(unexplained).toEqual([]);
});

test("every version is pinned", async () => {
  const { dependencies, devDependencies } = JSON.parse(await read("package.json"));
  for (const version of Object.values({ ...dependencies, ...devDependencies }))
    expect(version).toMatch(/^\d/);
});
