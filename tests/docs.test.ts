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

test("every test that docs/oauth.md names exists", async () => {
  const named = [
    ...(await read("docs/oauth.md")).matchAll(/`((?:http|domain|dev)\/[a-z0-9-]+)(?:\.test\.ts)?`/g),
  ];
  expect(named.length).toBeGreaterThan(12);
  for (const [, name = ""] of named) {
    expect([name, await Bun.file(join(root, `tests/${name}.test.ts`)).exists()]).toEqual([name, true]);
  }
});

test("every test that docs/delivery.md names exists", async () => {
  const named = [...(await read("docs/delivery.md")).matchAll(/`((?:[a-z]+\/)?[a-z-]+\.test\.ts)`/g)];
  expect(named.length).toBeGreaterThan(15);
  for (const [, name = ""] of named) {
    const path = name.includes("/") ? name : `webhooks/${name}`;
    expect([name, await Bun.file(join(root, `tests/${path}`)).exists()]).toEqual([name, true]);
  }
});

test("every test that docs/backups.md names exists", async () => {
  const named = [...(await read("docs/backups.md")).matchAll(/`([a-z]+\/[a-z-]+\.test\.ts)`/g)];
  expect(named.length).toBeGreaterThan(4);
  for (const [, name = ""] of named) {
    expect([name, await Bun.file(join(root, `tests/${name}`)).exists()]).toEqual([name, true]);
  }
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
